// Which name stands for which player in a list of ids.

const END = 4;

/** Rows with `name`, and with `mark`, the id's end, where several in the list have the same name; "" without need. */
export function named(rows, names, nameless) {
  const shown = rows.map((row) => ({ ...row, name: names[row.playerId] || nameless }));
  const counts = new Map();
  for (const { name } of shown) counts.set(name, (counts.get(name) ?? 0) + 1);
  return shown.map((row) => ({ ...row, mark: counts.get(row.name) > 1 ? row.playerId.slice(-END) : "" }));
}
