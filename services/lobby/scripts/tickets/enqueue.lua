-- Hands a ticket in, unless its player has a live one: that one stays as it is, but for its hold, and is answered.
-- KEYS: the ticket
-- ARGV: prefix, now, player, ticket id, bucket, name, rating, wait for bots, code of the party, whether it is opened (1 or
-- 0), silence limit, how long it is kept, most live tickets, until when it is held back, 0 for not at all
-- Answer: {'OK' | 'NO_PARTY' | 'FULL', ticket as shown}
local player, code = ARGV[3], ARGV[9]
local silence, keep = tonumber(ARGV[11]), tonumber(ARGV[12])
local key = ticket_key(player)

local function is_silent(seen_ms)
  return tonumber(seen_ms) + silence < NOW
end

local old = redis.call('HMGET', key, 'state', 'seen_ms')
if is_queued(old[1]) and is_silent(old[2]) then
  finish(player, 'EXPIRED', '', 0, '')
  old[1] = false
end
if is_queued(old[1]) or old[1] == 'SEATING' then
  redis.call('HSET', key, 'seen_ms', NOW, 'held_until_ms', ARGV[14])
  redis.call('PEXPIRE', key, keep)
  return {'OK', shown(player)}
end
if redis.call('ZCARD', PREFIX .. 'live') >= tonumber(ARGV[13]) then
  return {'FULL', shown(player)}
end

local bucket, state, partner, fill_ms = ARGV[5], 'WAITING', '', ARGV[8]
if code ~= '' and ARGV[10] == '1' then
  state = 'AWAITING_PARTNER'
elseif code ~= '' then
  partner = redis.call('GET', party_key(code))
  if not partner then
    return {'NO_PARTY', shown(player)}
  end
  local theirs = redis.call('HMGET', ticket_key(partner), 'state', 'bucket', 'seen_ms', 'fill_ms')
  if theirs[1] ~= 'AWAITING_PARTNER' or is_silent(theirs[3]) then
    return {'NO_PARTY', shown(player)}
  end
  bucket, fill_ms = theirs[2], theirs[4]
end
local order = redis.call('INCR', PREFIX .. 'order')
redis.call('DEL', key)
redis.call('HSET', key, 'ticket_id', ARGV[4], 'bucket', bucket, 'state', state, 'name', ARGV[6], 'rating', ARGV[7],
  'fill_ms', fill_ms, 'enqueued_ms', NOW, 'since_ms', NOW, 'seen_ms', NOW, 'order', order, 'partner', partner,
  'code', code, 'avoided', '', 'held_until_ms', ARGV[14])
redis.call('PEXPIRE', key, keep)
redis.call('ZADD', PREFIX .. 'live', order, player)
queue(player, bucket, order)
if state == 'AWAITING_PARTNER' then
  await_partner(player)
elseif partner ~= '' then
  redis.call('DEL', party_key(code))
  redis.call('HSET', ticket_key(partner), 'state', 'WAITING', 'partner', player, 'since_ms', NOW)
end
return {'OK', shown(player)}
