-- Hands a ticket in, unless its player has a live one: that one stays as it is and is answered.
-- KEYS: ticket, queue of the bucket, buckets, order counter
-- ARGV: player, ticket id, bucket, display name, now, silence limit, keep, prefix of queue keys (times in ms)
local player, bucket, now = ARGV[1], ARGV[3], tonumber(ARGV[5])
local old = redis.call('HMGET', KEYS[1], 'state', 'bucket', 'seen_ms')
local state = old[1]
if state == 'WAITING' and tonumber(old[3]) + tonumber(ARGV[6]) < now then
  redis.call('ZREM', ARGV[8] .. old[2], player)
  state = false
end
if state == 'WAITING' or state == 'SEATING' then
  if state == 'WAITING' then
    redis.call('HSET', KEYS[1], 'seen_ms', now)
    redis.call('PEXPIRE', KEYS[1], ARGV[7])
  end
else
  local order = redis.call('INCR', KEYS[4])
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'ticket_id', ARGV[2], 'bucket', bucket, 'state', 'WAITING', 'name', ARGV[4],
    'enqueued_ms', now, 'seen_ms', now, 'order', order)
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
  redis.call('ZADD', KEYS[2], order, player)
  redis.call('SADD', KEYS[3], bucket)
end
local bucket_now = redis.call('HGET', KEYS[1], 'bucket')
return {redis.call('ZCARD', ARGV[8] .. bucket_now), redis.call('HGETALL', KEYS[1])}
