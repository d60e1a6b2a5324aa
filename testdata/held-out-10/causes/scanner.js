// A virus scanner for uploads: scanner.js PART REST takes one connection at a time, and looks at each PART bytes for REST milliseconds, in which it reads nothing.
const [part, rest] = process.argv.slice(2).map(Number)
require('net').createServer(upload => {
  let held = 0
  upload.on('data', bytes => {
    held += bytes.length
    if (held < part) return
    held = 0
    upload.pause()
    setTimeout(() => upload.resume(), rest)
  })
}).listen(8000, '0.0.0.0')
