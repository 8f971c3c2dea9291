-- The live tickets after a place in the order of arrival, for operators.
-- KEYS: any key of the slot
-- ARGV: prefix, now, the place, at most how many
-- Answer: pairs of player and ticket as shown
local answer = {}
local players = redis.call('ZRANGEBYSCORE', PREFIX .. 'live', '(' .. ARGV[3], '+inf', 'LIMIT', 0, ARGV[4])
for _, player in ipairs(players) do
  answer[#answer + 1] = {player, shown(player)}
end
return answer
