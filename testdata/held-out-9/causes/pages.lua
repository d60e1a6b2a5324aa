-- Looks at a page now and then: pages.lua HOST PATH COUNT REST gets it COUNT times over one connection, REST seconds after the last one came.
local socket = require "socket"
local host, path, count, rest = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
local to = assert(socket.connect(host, 8000))
for look = 1, count do
  assert(to:send("GET " .. path .. " HTTP/1.1\r\nHost: " .. host .. "\r\nConnection: keep-alive\r\n\r\n"))
  local length
  repeat
    local line = assert(to:receive("*l"))
    length = tonumber(line:lower():match("^content%-length: *(%d+)")) or length
  until line == ""
  assert(to:receive(length))
  if look < count then socket.sleep(rest) end
end
to:close()
