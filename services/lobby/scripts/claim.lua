-- Takes the first live tickets off a queue, at least ARGV[4] and at most ARGV[5], or none; silent ones are over.
-- KEYS: queue of the bucket, buckets, leases
-- ARGV: bucket, now, silence limit, least, most, end of the lease, prefix of ticket keys (times in ms)
local now, least, most = tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5])
local live, gone, first = {}, {}, 0
while #live < most do
  local players = redis.call('ZRANGE', KEYS[1], first, first + 63)
  if #players == 0 then
    break
  end
  for _, player in ipairs(players) do
    local ticket = redis.call('HMGET', ARGV[7] .. player, 'state', 'bucket', 'seen_ms')
    if ticket[1] ~= 'WAITING' or ticket[2] ~= ARGV[1] then
      gone[#gone + 1] = player
    elseif tonumber(ticket[3]) + tonumber(ARGV[3]) < now then
      redis.call('HSET', ARGV[7] .. player, 'state', 'EXPIRED')
      redis.call('HDEL', ARGV[7] .. player, 'name')
      gone[#gone + 1] = player
    elseif #live < most then
      live[#live + 1] = player
    end
  end
  first = first + 64
end
for _, player in ipairs(gone) do
  redis.call('ZREM', KEYS[1], player)
end
local claims = {}
if #live >= least then
  for _, player in ipairs(live) do
    local key = ARGV[7] .. player
    redis.call('ZREM', KEYS[1], player)
    redis.call('HSET', key, 'state', 'SEATING')
    redis.call('ZADD', KEYS[3], ARGV[6], player)
    local ticket = redis.call('HMGET', key, 'ticket_id', 'name')
    claims[#claims + 1] = {ticket[1], player, ticket[2]}
  end
end
if redis.call('ZCARD', KEYS[1]) == 0 then
  redis.call('SREM', KEYS[2], ARGV[1])
end
return claims
