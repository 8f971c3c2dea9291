-- Every bucket and the length of its queue.
-- KEYS: the set of buckets
-- ARGV: prefix, now
local answer = {}
for _, bucket in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  answer[#answer + 1] = {bucket, redis.call('ZCARD', queue_key(bucket))}
end
return answer
