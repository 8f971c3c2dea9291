-- Reads tickets and keeps the live ones alive; a waiting one that was silent too long is over. That a client was heard of
-- is noted once a second: many are heard of more often.
-- KEYS: any key of the slot
-- ARGV: prefix, now, silence limit, how long a ticket is kept, whether a client asks (1) or an operator (0), players ...
-- Answer: each ticket as shown
local NOTED_EVERY = 1000
local silence, keep, is_client = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local answer = {}
for index = 6, #ARGV do
  local player = ARGV[index]
  local key = ticket_key(player)
  local old = redis.call('HMGET', key, 'state', 'seen_ms')
  if is_queued(old[1]) and tonumber(old[2]) + silence < NOW then
    finish(player, 'EXPIRED', '', 0, '')
  elseif is_client and (is_queued(old[1]) or old[1] == 'SEATING') and tonumber(old[2]) + NOTED_EVERY < NOW then
    redis.call('HSET', key, 'seen_ms', NOW)
    redis.call('PEXPIRE', key, keep)
    if old[1] == 'AWAITING_PARTNER' then
      redis.call('PEXPIRE', party_key(redis.call('HGET', key, 'code')), keep)
    end
  end
  answer[#answer + 1] = shown(player)
end
return answer
