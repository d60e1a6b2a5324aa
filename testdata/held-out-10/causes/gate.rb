# A gate with a clamped window: gate.rb CLAMP FILE takes one connection and writes what comes to FILE. The buffer is 1 MiB, and constant so; TCP_WINDOW_CLAMP (option 10), set again after each read, is what holds the window.
require "socket"
guest = TCPServer.new("0.0.0.0", 8000).accept
guest.setsockopt(Socket::SOL_SOCKET, Socket::SO_RCVBUF, 1 << 20)
File.open(ARGV[1], "wb") do |shelf|
  while part = (guest.readpartial(262144) rescue nil)
    guest.setsockopt(Socket::IPPROTO_TCP, 10, ARGV[0].to_i)
    shelf.write(part)
  end
end
