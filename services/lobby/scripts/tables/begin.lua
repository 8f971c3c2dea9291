-- Begins a renewal of the list, unless one has begun a moment ago.
-- KEYS: renewal, turn
-- ARGV: how long no other shall begin (ms)
-- Answer: the renewal's number, higher than every one before; 0 where none is due
if not redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then
  return 0
end
return redis.call('INCR', KEYS[2])
