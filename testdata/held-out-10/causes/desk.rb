# Takes orders: two lines, and an answer for both.
require "socket"
guest = TCPServer.new("0.0.0.0", 8000).accept
guest.write("taken\n") while guest.gets && guest.gets
