-- Puts jobs into beanstalkd, one after the other: put.lua HOST COUNT BYTES
local socket = require "socket"
local host, count, bytes = arg[1], tonumber(arg[2]), tonumber(arg[3])
local to = assert(socket.connect(host, 8000))
to:setoption("tcp-nodelay", true)
local job = "put 0 0 60 " .. bytes .. "\r\n" .. string.rep("j", bytes) .. "\r\n"
for _ = 1, count do
  assert(to:send(job))
  assert(to:receive("*l"))
end
to:close()
