-- Takes all of these tickets off the queue as one group, or none: each must still be matchable.
-- KEYS: the group
-- ARGV: prefix, now, group id, the group as text, end of the lease, how lately a client must have been heard of, then
-- player and ticket id of each member
-- Answer: 1, or 0 where the group cannot be had
local group, fresh = ARGV[3], tonumber(ARGV[6])
local members = {}
for index = 7, #ARGV, 2 do
  members[ARGV[index]] = true
end
-- The reply to the same call may have been lost.
local is_repeated = redis.call('EXISTS', KEYS[1]) == 1
for index = 7, #ARGV, 2 do
  local t = redis.call('HMGET', ticket_key(ARGV[index]), 'ticket_id', 'state', 'seen_ms', 'group', 'partner',
    'held_until_ms')
  local is_ours = is_repeated and t[4] == group
  local waits = is_matchable(t[2], t[3], t[6], fresh) and (t[5] == '' or members[t[5]])
  if t[1] ~= ARGV[index + 1] or not (is_ours or waits) then
    return 0
  end
end
if is_repeated then
  return 1
end
for index = 7, #ARGV, 2 do
  local key = ticket_key(ARGV[index])
  redis.call('ZREM', queue_key(redis.call('HGET', key, 'bucket')), ARGV[index])
  redis.call('HSET', key, 'state', 'SEATING', 'group', group)
end
redis.call('HSET', KEYS[1], 'text', ARGV[4], 'attempt', 1)
redis.call('ZADD', PREFIX .. 'leases', ARGV[5], group)
return 1
