-- Ends a claim: the player was seated or dropped, or the ticket goes back to its old place in the queue.
-- A ticket that is over, or another one by now, stays as it is. Being seated counts even where the lease was lost.
-- KEYS: ticket, leases, buckets
-- ARGV: player, ticket id, new state, table id, seat, reason, prefix of queue keys
local old = redis.call('HMGET', KEYS[1], 'ticket_id', 'state', 'bucket', 'order')
if old[1] ~= ARGV[2] then
  return 0
end
local was_waiting = old[2] == 'WAITING'
if old[2] ~= 'SEATING' and not (was_waiting and ARGV[3] == 'SEATED') then
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[3] == 'WAITING' then
  redis.call('HSET', KEYS[1], 'state', 'WAITING')
  redis.call('ZADD', ARGV[7] .. old[3], old[4], ARGV[1])
  redis.call('SADD', KEYS[3], old[3])
  return 1
end
if was_waiting then
  redis.call('ZREM', ARGV[7] .. old[3], ARGV[1])
end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'table_id', ARGV[4], 'seat', ARGV[5], 'reason', ARGV[6])
redis.call('HDEL', KEYS[1], 'name')
return 1
