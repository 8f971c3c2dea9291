-- Which of these players' clients are gone.
-- KEYS: any key of the slot
-- ARGV: prefix, now, silence limit, players ...
local gone = {}
for index = 4, #ARGV do
  local seen_ms = redis.call('HGET', ticket_key(ARGV[index]), 'seen_ms')
  if not seen_ms or tonumber(seen_ms) + tonumber(ARGV[3]) < NOW then
    gone[#gone + 1] = ARGV[index]
  end
end
return gone
