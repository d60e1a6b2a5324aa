-- Brings a file to the warehouse: courier.lua HOST FILE WINDOW has at most WINDOW bytes on the way for which no credit has come back.
local socket = require "socket"
local host, name, free = arg[1], arg[2], tonumber(arg[3])
local file = assert(io.open(name, "rb"))
local to = assert(socket.connect(host, 8000))
to:setoption("tcp-nodelay", true)
for box in function() return file:read(8192) end do
  while free < #box do free = free + tonumber(assert(to:receive("*l"))) end
  assert(to:send(box))
  free = free - #box
end
to:shutdown("send")
to:receive("*a")
