// Tiles as the page writes them: "R7", "K13", "S" (T1); the wire says TILE_R7.

export const COLOURS = ["R", "Y", "B", "K"];
export const SAHTE = "S";

/** "TILE_R7" as "R7"; null for no tile, or for one whose face this viewer may not see. */
export function tileFrom(name) {
  return name && name !== "TILE_UNSPECIFIED" ? name.slice("TILE_".length) : null;
}

/** "R7" as the wire names it. */
export const tileName = (tile) => `TILE_${tile}`;

/** The colour's letter, "S" for a sahte okey. */
export const colourOf = (tile) => tile[0];

/** 1..13; 0 for a sahte okey. */
export const numberOf = (tile) => (tile === SAHTE ? 0 : Number(tile.slice(1)));

/** The face that a tile shows at this table: a sahte okey is the okey's colour and number (T6). */
export const faceOf = (tile, okey) => (tile === SAHTE && okey ? okey : tile);

/** All 106 tiles in the order that the shuffle begins with (docs/fairness.md). */
export function allTiles() {
  const tiles = [];
  for (const colour of COLOURS)
    for (let number = 1; number <= 13; number += 1) tiles.push(colour + number, colour + number);
  return [...tiles, SAHTE, SAHTE];
}

/** How often each tile occurs. */
export function countTiles(tiles) {
  const counts = new Map();
  for (const tile of tiles) counts.set(tile, (counts.get(tile) ?? 0) + 1);
  return counts;
}

/** Compares by colour, then number; sahte okeys by the face they have. */
export const byColour = (okey) => (one, other) => {
  const [a, b] = [faceOf(one, okey), faceOf(other, okey)];
  return COLOURS.indexOf(colourOf(a)) - COLOURS.indexOf(colourOf(b)) || numberOf(a) - numberOf(b);
};

/** Compares by number, then colour. */
export const byNumber = (okey) => (one, other) => {
  const [a, b] = [faceOf(one, okey), faceOf(other, okey)];
  return numberOf(a) - numberOf(b) || COLOURS.indexOf(colourOf(a)) - COLOURS.indexOf(colourOf(b));
};
