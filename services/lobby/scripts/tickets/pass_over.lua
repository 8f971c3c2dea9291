-- Ends a pass: another one may begin at once.
-- KEYS: the queue
-- ARGV: prefix, now, bucket, who passes
local lease = PREFIX .. 'pass:' .. ARGV[3]
if redis.call('HGET', lease, 'passer') == ARGV[4] then
  redis.call('DEL', lease)
end
return 1
