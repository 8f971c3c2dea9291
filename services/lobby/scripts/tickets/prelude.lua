-- Stands before every script of the tickets. All keys share one hash tag, so they lie in one cluster slot: KEYS[1] leads
-- there, the others are named by ARGV[1], the prefix. ARGV[2] is now; times are ms.
local PREFIX, NOW = ARGV[1], tonumber(ARGV[2])

local function ticket_key(player)
  return PREFIX .. 'ticket:' .. player
end

local function queue_key(bucket)
  return PREFIX .. 'queue:' .. bucket
end

local function party_key(code)
  return PREFIX .. 'party:' .. code
end

local function is_queued(state)
  return state == 'WAITING' or state == 'AWAITING_PARTNER'
end

-- Whether a ticket can be matched now, by what stands in its hash: it waits, its client was heard of within so many ms, and
-- no old seat of its player is being given up.
local function is_matchable(state, seen_ms, held_until_ms, fresh)
  return state == 'WAITING' and tonumber(seen_ms) + fresh >= NOW and tonumber(held_until_ms or 0) <= NOW
end

-- Puts a live ticket into its place in the queue.
local function queue(player, bucket, order)
  redis.call('ZADD', queue_key(bucket), order, player)
  redis.call('SADD', PREFIX .. 'buckets', bucket)
end

-- A ticket without a partner that wants one: it keeps its place and its code lets somebody in again.
local function await_partner(player)
  local key = ticket_key(player)
  redis.call('HSET', key, 'state', 'AWAITING_PARTNER', 'partner', '')
  local ttl = redis.call('PTTL', key)
  redis.call('SET', party_key(redis.call('HGET', key, 'code')), player, 'PX', math.max(ttl, 1))
end

-- Takes a player out of its party; the partner, if it waits, waits for a partner.
local function leave_party(player)
  local old = redis.call('HMGET', ticket_key(player), 'partner', 'code')
  local partner, code = old[1], old[2]
  if partner and partner ~= '' then
    local theirs = redis.call('HMGET', ticket_key(partner), 'partner', 'state')
    if theirs[1] == player and theirs[2] == 'WAITING' then
      await_partner(partner)
    end
  elseif code and code ~= '' and redis.call('GET', party_key(code)) == player then
    redis.call('DEL', party_key(code))
  end
end

-- Ends a ticket: out of its queue and its party, and without a name from now on.
local function finish(player, state, table_id, seat, reason)
  local key = ticket_key(player)
  local bucket = redis.call('HGET', key, 'bucket')
  redis.call('ZREM', queue_key(bucket), player)
  redis.call('ZREM', PREFIX .. 'live', player)
  leave_party(player)
  redis.call('HSET', key, 'state', state, 'table_id', table_id, 'seat', seat, 'reason', reason, 'ended_ms', NOW)
  redis.call('HDEL', key, 'name', 'group', 'partner', 'code')
end

-- What a player is shown: how many wait, how long one waited lately, and the ticket; the fields stand in the order that
-- ticket_store.py reads. When its client was heard of is not among them, so that they change only when something happens.
local function shown(player)
  local t = redis.call('HMGET', ticket_key(player), 'bucket', 'ticket_id', 'state', 'order', 'enqueued_ms', 'since_ms',
    'rating', 'fill_ms', 'table_id', 'seat', 'reason', 'code', 'partner', 'name')
  if not t[1] then
    return {0, '0', {}}
  end
  for index = 1, #t do
    t[index] = t[index] or ''
  end
  local typical = redis.call('GET', PREFIX .. 'typical:' .. t[1]) or '0'
  return {redis.call('ZCARD', queue_key(t[1])), typical, t}
end
