// A web server on port 8000: serve.js THINK_MS BYTES answers each request with BYTES after THINK_MS.
const [think, bytes] = process.argv.slice(2).map(Number);
const body = Buffer.alloc(bytes, "n");
require("http").createServer((request, response) => setTimeout(() => response.end(body), think)).listen(8000, "0.0.0.0");
