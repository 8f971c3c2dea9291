-- Takes over a group whose lease is over: its replica died or hangs.
-- KEYS: the leases
-- ARGV: prefix, now, end of the new lease
-- Answer: nothing if there is none, else {group id, attempt, text, table of the verdict, verdict, end of the old lease}
local lapsed = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', NOW, 'WITHSCORES', 'LIMIT', 0, 1)
local group, ended = lapsed[1], lapsed[2]
if not group then
  return false
end
local key = PREFIX .. 'group:' .. group
if redis.call('EXISTS', key) == 0 then
  redis.call('ZREM', KEYS[1], group)
  return false
end
redis.call('ZADD', KEYS[1], ARGV[3], group)
local attempt = redis.call('HINCRBY', key, 'attempt', 1)
local old = redis.call('HMGET', key, 'text', 'table_id', 'verdict')
return {group, attempt, old[1], old[2] or '', old[3] or '', ended}
