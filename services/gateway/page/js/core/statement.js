// What a statement tells beyond its single rows.

const STEPS = { JOURNAL_KIND_HOLD: 1, JOURNAL_KIND_VOID_HOLD: -1 };

/** The ids of the matches that the stake stayed in, so that there are rounds to look at; others never began. */
export function matchesPlayed(postings) {
  const stakes = new Map();
  for (const { kind, match_id: matchId } of postings)
    if (kind in STEPS) stakes.set(matchId, (stakes.get(matchId) ?? 0) + STEPS[kind]);
  return new Set([...stakes].filter(([matchId, held]) => matchId && held > 0).map(([matchId]) => matchId));
}
