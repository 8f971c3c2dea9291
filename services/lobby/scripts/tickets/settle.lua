-- Ends a group: every ticket gets its outcome at once. Only the newest attempt may.
-- KEYS: the group
-- ARGV: prefix, now, group id, attempt, how long the typical wait is remembered, then player, ticket id, state, table id,
-- seat and reason of each member
-- Answer: the waits of those who are seated, in ms; nothing where the attempt is not the newest
local group, waits = ARGV[3], {}
if redis.call('HGET', KEYS[1], 'attempt') ~= ARGV[4] then
  return false
end
local back = {}
for index = 6, #ARGV, 6 do
  local player, state = ARGV[index], ARGV[index + 2]
  local key = ticket_key(player)
  local t = redis.call('HMGET', key, 'ticket_id', 'group', 'bucket', 'order', 'since_ms')
  if t[1] == ARGV[index + 1] and t[2] == group then
    if state == 'WAITING' then
      redis.call('HSET', key, 'state', 'WAITING', 'table_id', '', 'seat', 0, 'avoided', ARGV[index + 3])
      redis.call('HDEL', key, 'group')
      queue(player, t[3], t[4])
      back[#back + 1] = player
    else
      finish(player, state, ARGV[index + 3], ARGV[index + 4], ARGV[index + 5])
      if state == 'SEATED' then
        local wait = NOW - tonumber(t[5])
        local typical = PREFIX .. 'typical:' .. t[3]
        local before = tonumber(redis.call('GET', typical) or wait)
        redis.call('SET', typical, math.floor(before + (wait - before) / 8), 'PX', ARGV[5])
        waits[#waits + 1] = wait
      end
    end
  elseif not t[1] then
    redis.call('ZREM', PREFIX .. 'live', player)
  end
end
-- Whose partner is not back waits for a partner.
for _, player in ipairs(back) do
  local partner = redis.call('HGET', ticket_key(player), 'partner')
  if partner ~= '' and not is_queued(redis.call('HGET', ticket_key(partner), 'state')) then
    await_partner(player)
  end
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', PREFIX .. 'leases', group)
return waits
