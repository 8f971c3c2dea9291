-- Reads a player's ticket and keeps a live one alive; a waiting one that was silent too long is over.
-- KEYS: ticket
-- ARGV: player, now, silence limit, keep, prefix of queue keys (times in ms)
local now = tonumber(ARGV[2])
local old = redis.call('HMGET', KEYS[1], 'state', 'bucket', 'seen_ms')
if not old[1] then
  return {0, {}}
end
if old[1] == 'WAITING' and tonumber(old[3]) + tonumber(ARGV[3]) < now then
  redis.call('ZREM', ARGV[5] .. old[2], ARGV[1])
  redis.call('HSET', KEYS[1], 'state', 'EXPIRED')
  redis.call('HDEL', KEYS[1], 'name')
elseif old[1] == 'WAITING' or old[1] == 'SEATING' then
  redis.call('HSET', KEYS[1], 'seen_ms', now)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return {redis.call('ZCARD', ARGV[5] .. old[2]), redis.call('HGETALL', KEYS[1])}
