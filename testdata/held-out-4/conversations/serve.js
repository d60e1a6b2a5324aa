// Servers on port 8000: serve.js KIND …
//   think MS SIZE       HTTP/2 in clear: each request is answered with SIZE bytes after MS
//   events SIZE MS      HTTP/1.1: an event of SIZE bytes each MS, until the client has as many as its path says
//   documents           HTTP/1.1: POSTs of JSON, a short answer to each
//   apart SIZE          lines over TCP: a status line and SIZE bytes in two writes, with Nagle's algorithm
const [kind, ...more] = process.argv.slice(2), [a, b] = more.map(Number);
const kinds = {
  think() {
    const server = require('http2').createServer();
    server.on('stream', stream => setTimeout(() => { stream.respond({ ':status': 200 }); stream.end(Buffer.alloc(b, 'h')); }, a));
    return server;
  },
  events() {
    return require('http').createServer((request, response) => {
      let left = Number(request.url.slice(1));
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const timer = setInterval(() => {
        response.write('data: ' + 'e'.repeat(a - 8) + '\n\n');
        if (--left === 0) { clearInterval(timer); response.end(); }
      }, b);
    });
  },
  documents() {
    return require('http').createServer({ keepAliveTimeout: 60000 }, (request, response) => {
      let size = 0;
      request.on('data', part => { size += part.length; });
      request.on('end', () => response.end(JSON.stringify({ size })));
    });
  },
  apart() {
    return require('net').createServer(socket => {
      socket.on('error', () => {});
      socket.on('data', () => { socket.write(`+${a}\r\n`); setImmediate(() => socket.write(Buffer.alloc(a, 'a'))); });
    });
  },
};
kinds[kind]().listen(8000, '0.0.0.0');
