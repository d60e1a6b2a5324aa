// WebSocket (RFC 6455, binary frames, a mask of zeroes) without a library.
//   ws.js serve push FILE COUNT MS      sends FILE COUNT times, one each MS, and closes
//   ws.js serve frames COUNT BYTES MS   sends COUNT pictures of BYTES, one each MS, and closes
//   ws.js serve answer BYTES            answers each message with one of BYTES
//   ws.js take HOST                     reads until the end
//   ws.js ask HOST COUNT BYTES [LAST]   COUNT messages of BYTES, each after the answer to the one before; then one of LAST bytes
const http = require("http"), fs = require("fs"), crypto = require("crypto");
const [role, what, ...rest] = process.argv.slice(2);

function frame(body, masked) {
    const n = body.length, long = n < 126 ? 0 : n < 65536 ? 2 : 8, head = Buffer.alloc(2 + long + (masked ? 4 : 0));
    head[0] = 0x82; head[1] = (masked ? 128 : 0) | (long ? (long === 2 ? 126 : 127) : n);
    if (long === 2) head.writeUInt16BE(n, 2); else if (long === 8) head.writeBigUInt64BE(BigInt(n), 2);
    return Buffer.concat([head, body]);
}
function messages(socket, first, each) {
    let have = Buffer.from(first);
    const look = () => {
        while (have.length >= 2) {
            let n = have[1] & 127, at = 2;
            if (n === 126) { if (have.length < 4) return; n = have.readUInt16BE(2); at = 4; } else if (n === 127) { if (have.length < 10) return; n = Number(have.readBigUInt64BE(2)); at = 10; }
            if (have[1] & 128) at += 4;
            if (have.length < at + n) return;
            have = have.subarray(at + n); each(n);
        }
    };
    socket.on("data", piece => { have = Buffer.concat([have, piece]); look(); });
    look();
}

if (role === "serve") {
    const server = http.createServer((ask, answer) => answer.end());
    server.on("upgrade", (ask, socket, first) => {
        const key = crypto.createHash("sha1").update(ask.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
        socket.on("error", () => process.exit(0)); socket.on("close", () => process.exit(0));
        socket.setNoDelay(true);
        socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
        if (what === "answer") { const body = frame(Buffer.alloc(Number(rest[0]), 97), false); messages(socket, first, () => socket.write(body)); return; }
        const body = frame(what === "push" ? fs.readFileSync(rest[0]) : crypto.randomBytes(Number(rest[1])), false), count = Number(what === "push" ? rest[1] : rest[0]);
        let sent = 0;
        const one = () => { socket.write(body); if (++sent === count) { clearInterval(clock); socket.end(); } };
        const clock = setInterval(one, Number(rest[2])); one();
    });
    server.listen(8000);
} else {
    const ask = http.request({ host: what, port: 8000, headers: { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": 13, "Sec-WebSocket-Key": crypto.randomBytes(16).toString("base64") } });
    ask.on("upgrade", (answer, socket, first) => {
        socket.setNoDelay(true);
        if (role === "take") { let total = first.length; socket.on("data", piece => { total += piece.length; }); socket.on("end", () => { console.log(total); socket.end(); }); return; }
        const [count, bytes, last] = rest.map(Number), body = frame(Buffer.alloc(bytes, 98), true);
        let left = count;
        const next = () => { if (left-- > 0) socket.write(body); else if (last && left === -1) socket.write(frame(crypto.randomBytes(last), true)); else { socket.destroy(); process.exit(0); } };
        messages(socket, first, next); next();
    });
    ask.end();
}
