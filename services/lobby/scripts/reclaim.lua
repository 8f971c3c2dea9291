-- Takes over claims whose lease is over, at most 64: their replica died or hangs.
-- KEYS: leases
-- ARGV: now, end of the new lease, prefix of ticket keys (times in ms)
local claims = {}
for _, player in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 64)) do
  local ticket = redis.call('HMGET', ARGV[3] .. player, 'ticket_id', 'state', 'name')
  if ticket[2] == 'SEATING' then
    redis.call('ZADD', KEYS[1], ARGV[2], player)
    claims[#claims + 1] = {ticket[1], player, ticket[3]}
  else
    redis.call('ZREM', KEYS[1], player)
  end
end
return claims
