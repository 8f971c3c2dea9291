-- Puts a renewed list in the place of the one that is there, unless that is newer: its replica was faster than this one.
-- KEYS: list
-- ARGV: number of the renewal, the list, how long it may be shown (ms)
-- Answer: 1, or 0 where a newer list stands
local standing = redis.call('HGET', KEYS[1], 'turn')
if standing and tonumber(standing) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'turn', ARGV[1], 'copy', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
