-- Takes a waiting ticket back; any other stays as it is.
-- KEYS: the ticket
-- ARGV: prefix, now, player, reason
-- Answer: the ticket as shown
if is_queued(redis.call('HGET', KEYS[1], 'state')) then
  finish(ARGV[3], 'CANCELLED', '', 0, ARGV[4])
end
return shown(ARGV[3])
