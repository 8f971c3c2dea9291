-- Reads the list, unless it is the one that the reader has.
-- KEYS: list
-- ARGV: number of the renewal that the reader has, 0 for none
-- Answer: number of the renewal, 0 where there is no list; the list where it is another one
local standing = redis.call('HGET', KEYS[1], 'turn')
if not standing then
  return {0}
end
if standing == ARGV[1] then
  return {tonumber(standing)}
end
return {tonumber(standing), redis.call('HGET', KEYS[1], 'copy')}
