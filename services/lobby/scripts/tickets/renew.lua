-- Renews the leases of groups that their maker still seats. None gets shorter: the reply to an earlier call may come late.
-- KEYS: the leases
-- ARGV: prefix, now, end of the leases, then id and attempt of each group
-- Answer: for each 1, or 0 where the attempt is not the newest
local answer = {}
for index = 4, #ARGV, 2 do
  local is_newest = redis.call('HGET', PREFIX .. 'group:' .. ARGV[index], 'attempt') == ARGV[index + 1]
  if is_newest then
    redis.call('ZADD', KEYS[1], 'XX', 'GT', ARGV[3], ARGV[index])
  end
  answer[#answer + 1] = is_newest and 1 or 0
end
return answer
