# An archive of a radio station: radio.rb BYTES RATE answers a GET with a programme of BYTES; the socket has SO_MAX_PACING_RATE (option 47) RATE, in bytes/s.
require "socket"
bytes, rate = ARGV.map(&:to_i)
piece = Random.bytes(32768)
station = TCPServer.new("0.0.0.0", 8000)
loop do
  to = station.accept
  to.setsockopt(Socket::SOL_SOCKET, 47, [rate].pack("L"))
  nil while (line = to.gets) && line != "\r\n"
  to.write "HTTP/1.1 200 OK\r\nContent-Type: audio/ogg\r\nContent-Length: #{bytes}\r\nConnection: close\r\n\r\n"
  left = bytes
  while left > 0
    to.write piece[0, [left, piece.size].min]
    left -= piece.size
  end
  to.close
end
