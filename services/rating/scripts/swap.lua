-- Put a new copy in the old one's place. An older one in place of a newer one would do no harm: it
-- says which state it is of, and catches up.
-- KEYS: established, provisional, facts of the live copy, then of the new one.
if redis.call('EXISTS', KEYS[6]) == 0 then
  return 0
end
for at = 1, 3 do
  redis.call('UNLINK', KEYS[at])
  if redis.call('EXISTS', KEYS[at + 3]) == 1 then
    redis.call('RENAME', KEYS[at + 3], KEYS[at])
    redis.call('PERSIST', KEYS[at])
  end
end
return 1
