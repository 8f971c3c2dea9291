-- Takes a waiting ticket back; any other stays as it is.
-- KEYS: ticket
-- ARGV: player, prefix of queue keys
local old = redis.call('HMGET', KEYS[1], 'state', 'bucket')
if not old[1] then
  return {0, {}}
end
if old[1] == 'WAITING' then
  redis.call('ZREM', ARGV[2] .. old[2], ARGV[1])
  redis.call('HSET', KEYS[1], 'state', 'CANCELLED')
  redis.call('HDEL', KEYS[1], 'name')
end
return {redis.call('ZCARD', ARGV[2] .. old[2]), redis.call('HGETALL', KEYS[1])}
