// HTTP/2 with Node's own windows (65,535 B for a stream and for the connection): `h2.js serve FILE` on port 8000, `h2.js get HOST` reads it.
const http2 = require("http2"), fs = require("fs"), [what, name] = process.argv.slice(2);
if (what === "serve") {
  const body = fs.readFileSync(name);
  http2.createServer().on("stream", stream => { stream.respond({ ":status": 200 }); stream.end(body); }).listen(8000, "0.0.0.0");
} else {
  const session = http2.connect(`http://${name}:8000`), stream = session.request({ ":path": "/" });
  let total = 0;
  stream.on("data", piece => { total += piece.length; });
  stream.on("end", () => { console.log("received", total); session.close(); });
  stream.end();
}
