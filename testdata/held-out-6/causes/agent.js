// A backup agent: agent.js HOST FILE COUNT uploads FILE COUNT times over one connection (HTTP PUT, chunked), one after the other.
const http = require("http"), fs = require("fs");
const [host, name, count] = process.argv.slice(2), agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const one = i => {
    if (i > Number(count)) { agent.destroy(); return; }
    const put = http.request({ host, port: 8000, path: "/part" + i, method: "PUT", agent }, answer => { answer.resume(); answer.on("end", () => setImmediate(one, i + 1)); });
    fs.createReadStream(name).pipe(put);
};
one(1);
