// Clients, on one connection each: client.js KIND …
//   documents COUNT SIZE    posts COUNT documents of SIZE bytes, one after the other
//   lines COUNT SIZE        for "apart": a line, its answer, the next line
//   http2 PATH              one GET with the windows of Node's HTTP/2 (64 KiB)
const [kind, ...more] = process.argv.slice(2), host = process.env.PIPEFILL_SERVER, port = 8000;
const kinds = {
  documents() {
    const http = require('http'), agent = new http.Agent({ keepAlive: true, maxSockets: 1 }), [count, size] = more.map(Number), body = JSON.stringify({ text: 'd'.repeat(size - 11) });
    let done = 0;
    const next = () => {
      if (done++ === count) { console.log('posted', count); agent.destroy(); return; }
      http.request({ host, port, agent, method: 'POST', path: '/store', headers: { 'Content-Type': 'application/json', 'Content-Length': body.length } },
        response => { response.resume(); response.on('end', next); }).end(body);
    };
    next();
  },
  lines() {
    const [count, size] = more.map(Number), socket = require('net').connect(port, host), one = size + `+${size}\r\n`.length;
    let left = one, done = 0;
    socket.setNoDelay(true);
    socket.write('next\n');
    socket.on('data', part => {
      left -= part.length;
      if (left) return;
      if (++done === count) { console.log('lines', count); socket.end(); } else { left = one; socket.write('next\n'); }
    });
  },
  http2() {
    const session = require('http2').connect(`http://${host}:${port}`), stream = session.request({ ':path': more[0] });
    let size = 0;
    stream.on('data', part => { size += part.length; });
    stream.on('end', () => { console.log('received', size); session.close(); });
  },
};
kinds[kind]();
