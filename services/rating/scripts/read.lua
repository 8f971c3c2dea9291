-- Read a stretch of a board: around a player, after a place, or from the top.
-- KEYS: established, provisional, facts. ARGV: epoch, least version, section (0: the player's own),
-- size, how ("around", "after" or "top"), player, rating.
-- Returns {} if the copy cannot answer; else section, players in it, rank and index of the first one
-- found, and for each one found: id, rating turned round, rated matches.
local stamp = redis.call('HMGET', KEYS[3], '#epoch', '#version')
if stamp[1] ~= ARGV[1] or tonumber(stamp[2]) < tonumber(ARGV[2]) then
  return {}
end
local sizes = {redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[2])}
-- A server that is short of memory may have dropped one of the three keys.
if sizes[1] + sizes[2] + 2 ~= redis.call('HLEN', KEYS[3]) then
  return {}
end
local section, size, how, player = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
local first = 0
if how == 'around' then
  section = 1
  local at = redis.call('ZRANK', KEYS[1], player)
  if not at then
    section, at = 2, redis.call('ZRANK', KEYS[2], player)
  end
  if not at then
    return {0}
  end
  first = math.max(0, at - math.floor((size - 1) / 2))
elseif how == 'after' then
  -- Who has moved since the page before is no landmark any more: the database knows the place.
  if tonumber(redis.call('ZSCORE', KEYS[section], player) or 'nan') ~= -tonumber(ARGV[7]) then
    return {}
  end
  first = redis.call('ZRANK', KEYS[section], player) + 1
end
local found = redis.call('ZRANGE', KEYS[section], first, first + size, 'WITHSCORES')
local answer = {section, sizes[section], 1, first}
if #found > 0 then
  answer[3] = 1 + redis.call('ZCOUNT', KEYS[section], '-inf', '(' .. found[2])
  local players = {}
  for at = 1, #found, 2 do
    players[#players + 1] = found[at]
  end
  local matches = redis.call('HMGET', KEYS[3], unpack(players))
  for at = 1, #players do
    answer[#answer + 1] = players[at]
    answer[#answer + 1] = found[2 * at]
    answer[#answer + 1] = matches[at]
  end
end
return answer
