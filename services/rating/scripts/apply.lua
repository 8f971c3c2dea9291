-- Set players to where they stand now, and the copy's version to the one that this makes of it.
-- KEYS: established, provisional, facts. ARGV: epoch, version before, version after, then for each
-- player: id, section, rating, rated matches. Does nothing if the copy is not of the version before.
local stamp = redis.call('HMGET', KEYS[3], '#epoch', '#version')
if stamp[1] ~= ARGV[1] or stamp[2] ~= ARGV[2] then
  return 0
end
for at = 4, #ARGV, 4 do
  local player, section = ARGV[at], tonumber(ARGV[at + 1])
  redis.call('ZREM', KEYS[3 - section], player)
  -- Scores are turned round: highest rating first, equal ones by the ids' bytes.
  redis.call('ZADD', KEYS[section], -tonumber(ARGV[at + 2]), player)
  redis.call('HSET', KEYS[3], player, ARGV[at + 3])
end
redis.call('HSET', KEYS[3], '#version', ARGV[3])
return 1
