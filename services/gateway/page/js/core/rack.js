// Where the own tiles lie on the rack: two rows of slots, moved about freely. No rule of the game is here; the server
// knows a rack without order, and this page remembers the order for the player.
import { byColour, byNumber, colourOf, countTiles, faceOf, numberOf } from "./tiles.js";

export const ROW = 14;
export const SLOTS = 2 * ROW;

/** No tile on any slot. */
export const emptyRack = () => Array(SLOTS).fill(null);

const rowStart = (slot) => Math.floor(slot / ROW) * ROW;

/** The free slot where a new tile is noticed best: after the last tile of the lower row, else the first free one. */
export function placeForNew(slots) {
  for (const start of [ROW, 0]) {
    let last = start - 1;
    for (let slot = start; slot < start + ROW; slot += 1) if (slots[slot]) last = slot;
    if (last + 1 < start + ROW) return last + 1 + (last >= start && last + 2 < start + ROW ? 1 : 0);
  }
  return slots.indexOf(null);
}

/**
 * The slots after the server has told which tiles the rack holds now: what stayed lies where it lay.
 *
 * `from` is the slot whose tile was given away, if known; `to` the slot wished for a new one.
 */
export function reconcile(slots, tiles, { from = -1, to = -1 } = {}) {
  const next = [...slots];
  const missing = countTiles(tiles);
  const keep = (slot) => {
    const left = next[slot] ? (missing.get(next[slot]) ?? 0) : 0;
    if (next[slot] && left === 0) next[slot] = null;
    else if (next[slot]) missing.set(next[slot], left - 1);
  };
  for (let slot = 0; slot < SLOTS; slot += 1) if (slot !== from) keep(slot);
  if (from >= 0) keep(from);
  const added = [...missing].flatMap(([tile, count]) => Array(count).fill(tile));
  if (next.every((tile) => tile === null)) return pack(groupsByColour(added, null));
  for (const tile of added) {
    const slot = to >= 0 && next[to] === null ? to : placeForNew(next);
    next[slot] = tile;
  }
  return next;
}

/** The slots after a tile was moved; an occupied target makes room by shifting its row, or swaps where it is full. */
export function move(slots, from, to) {
  if (from === to || slots[from] === null) return slots;
  const next = [...slots];
  const tile = next[from];
  next[from] = null;
  if (next[to] !== null && !makeRoom(next, to)) next[from] = next[to];
  next[to] = tile;
  return next;
}

function makeRoom(slots, to) {
  const start = rowStart(to);
  for (let step = 1; step < ROW; step += 1)
    for (const free of [to + step, to - step]) {
      if (free < start || free >= start + ROW || slots[free] !== null) continue;
      const towards = Math.sign(to - free);
      for (let slot = free; slot !== to; slot += towards) slots[slot] = slots[slot + towards];
      slots[to] = null;
      return true;
    }
  return false;
}

/** Slots that show the groups from left to right with a gap between them, upper row first. */
export function pack(groups) {
  const filled = groups.filter((group) => group.length > 0);
  return packed(filled, 1) ?? packed(filled, 0) ?? packed([filled.flat()], 0) ?? fillUp(filled.flat());
}

function packed(groups, gap) {
  const slots = emptyRack();
  let slot = 0;
  for (const group of groups) {
    if (slot > rowStart(slot) && slot + group.length > rowStart(slot) + ROW) slot = rowStart(slot) + ROW;
    if (slot + group.length > SLOTS || group.length > ROW) return null;
    group.forEach((tile, place) => {
      slots[slot + place] = tile;
    });
    slot += group.length;
    if (slot % ROW !== 0) slot += gap;
  }
  return slots;
}

function fillUp(tiles) {
  const slots = emptyRack();
  tiles.forEach((tile, slot) => {
    slots[slot] = tile;
  });
  return slots;
}

/** The tiles by colour, each run of numbers for itself; what stands alone comes last. */
export function groupsByColour(tiles, okey) {
  const groups = [];
  for (const tile of [...tiles].sort(byColour(okey))) {
    const last = groups.at(-1);
    const before = last && faceOf(last.at(-1), okey);
    const face = faceOf(tile, okey);
    const follows = last && colourOf(before) === colourOf(face);
    if (follows) last.push(tile);
    else groups.push([tile]);
  }
  return groups;
}

/** The tiles by number: what could become groups. */
export function groupsByNumber(tiles, okey) {
  const groups = [];
  for (const tile of [...tiles].sort(byNumber(okey))) {
    const last = groups.at(-1);
    if (last && numberOf(faceOf(last.at(-1), okey)) === numberOf(faceOf(tile, okey))) last.push(tile);
    else groups.push([tile]);
  }
  const several = groups.filter((group) => group.length > 1);
  return [...several, groups.filter((group) => group.length === 1).flat()];
}

/** Pairs of equal faces first, then what has no partner. */
export function groupsByPairs(tiles, okey) {
  const pairs = [];
  const singles = [];
  for (const tile of [...tiles].sort(byColour(okey))) {
    if (singles.length && faceOf(singles.at(-1), okey) === faceOf(tile, okey)) pairs.push([singles.pop(), tile]);
    else singles.push(tile);
  }
  return [...pairs, singles];
}

/** The nearest slot that holds a tile in the direction of an arrow key, or the one it started from. */
export function neighbour(slots, slot, key) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step) {
    for (let next = slot + step; next >= 0 && next < SLOTS; next += step) if (slots[next]) return next;
    return slot;
  }
  const other = key === "ArrowUp" ? slot - ROW : slot + ROW;
  if (other < 0 || other >= SLOTS) return slot;
  const start = rowStart(other);
  const held = [...Array(ROW).keys()].map((place) => start + place).filter((place) => slots[place]);
  return held.sort((a, b) => Math.abs(a - other) - Math.abs(b - other))[0] ?? slot;
}

/** Where a picked-up tile goes with an arrow key: one slot on, or to the other row. */
export function stepOf(slot, key) {
  const next = slot + { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -ROW, ArrowDown: ROW }[key];
  return next >= 0 && next < SLOTS ? next : slot;
}
