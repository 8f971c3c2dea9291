-- Counts one of a player's calls, unless it is the one counted last and has not come once more too often.
-- KEYS: the player's calls of this kind
-- ARGV: now, how many at once, one more after (times in ms), digest of the request, how often it may come again for nothing
-- Answer: 0, or in how many ms the call may come again
local known = redis.call('HMGET', KEYS[1], 'whole_ms', 'last', 'again')
if known[2] == ARGV[4] and tonumber(known[3]) < tonumber(ARGV[5]) then
  redis.call('HINCRBY', KEYS[1], 'again', 1)
  return 0
end
local now, every = tonumber(ARGV[1]), tonumber(ARGV[3])
-- When all calls are free again; each takes a share of it.
local whole = math.max(tonumber(known[1] or now), now) + every
local early = whole - ARGV[2] * every - now
if early > 0 then
  return early
end
redis.call('HSET', KEYS[1], 'whole_ms', whole, 'last', ARGV[4], 'again', 0)
redis.call('PEXPIRE', KEYS[1], whole - now)
return 0
