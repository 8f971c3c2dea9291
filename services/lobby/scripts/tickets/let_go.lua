-- Lets a ticket be matched that was held back while its player gave an old seat up.
-- KEYS: the ticket
-- ARGV: prefix, now, player, ticket id
-- Answer: the ticket as shown
if redis.call('HGET', KEYS[1], 'ticket_id') == ARGV[4] then
  redis.call('HSET', KEYS[1], 'held_until_ms', 0)
end
return shown(ARGV[3])
