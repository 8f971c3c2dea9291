-- Who waits in a bucket, for one matching pass; nobody else passes over it until the pass's lease is over. Tickets whose
-- clients are gone end here.
-- KEYS: the queue
-- ARGV: prefix, now, bucket, who passes, length of the lease, silence limit, how lately a client must have been heard of
-- to be matched, at most how many
-- Answer: nothing where another one passes; else the tickets that can be matched, in order of arrival
local bucket, passer = ARGV[3], ARGV[4]
local silence, fresh = tonumber(ARGV[6]), tonumber(ARGV[7])
local lease = PREFIX .. 'pass:' .. bucket
local holder = redis.call('HMGET', lease, 'passer', 'until_ms')
if holder[1] and holder[1] ~= passer and tonumber(holder[2]) > NOW then
  return false
end
redis.call('HSET', lease, 'passer', passer, 'until_ms', NOW + ARGV[5])
redis.call('PEXPIRE', lease, ARGV[5])

local rows = {}
for _, player in ipairs(redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[8]) - 1)) do
  local t = redis.call('HMGET', ticket_key(player), 'state', 'bucket', 'seen_ms', 'ticket_id', 'order', 'rating', 'since_ms',
    'partner', 'fill_ms', 'avoided', 'name', 'held_until_ms')
  if not is_queued(t[1]) or t[2] ~= bucket then
    redis.call('ZREM', KEYS[1], player)
    if not t[1] then
      redis.call('ZREM', PREFIX .. 'live', player)
    end
  elseif tonumber(t[3]) + silence < NOW then
    finish(player, 'EXPIRED', '', 0, '')
  elseif is_matchable(t[1], t[3], t[12], fresh) then
    rows[#rows + 1] = {player, t[4], t[11], t[5], t[6], t[7], t[8], t[9], t[10]}
  end
end
if redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('SREM', PREFIX .. 'buckets', bucket)
  redis.call('DEL', lease)
end
return rows
