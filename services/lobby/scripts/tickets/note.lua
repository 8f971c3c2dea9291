-- Notes on a group what its newest attempt has found out: the verdict, before seats are taken back; where its members sit,
-- so that they can be shown the table.
-- KEYS: the group
-- ARGV: prefix, now, group id, attempt, verdict or nothing, table where seats are taken back, then player, table id and
-- seat of each member who sits
-- Answer: 1, or 0 where the attempt is not the newest
if redis.call('HGET', KEYS[1], 'attempt') ~= ARGV[4] then
  return 0
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], 'verdict', ARGV[5], 'table_id', ARGV[6])
end
for index = 7, #ARGV, 3 do
  local key = ticket_key(ARGV[index])
  if redis.call('HGET', key, 'group') == ARGV[3] then
    redis.call('HSET', key, 'table_id', ARGV[index + 1], 'seat', ARGV[index + 2])
  end
end
return 1
