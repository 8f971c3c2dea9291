// Display names by player id: the services' messages about past matches and ratings hold ids only.

/** Names by id, without those that nobody knows; {} while nobody answers, since what is shown matters more than names. */
export async function displayNames(rpc, playerIds) {
  const asked = [...new Set(playerIds)].filter(Boolean);
  if (!asked.length) return {};
  const found = await rpc.call("TableService", "GetDisplayNames", { player_ids: asked }).catch(() => null);
  return found?.display_names ?? {};
}
