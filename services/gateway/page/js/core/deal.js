// The fairness check: the deal rebuilt from the seed that was committed to, in this browser (docs/fairness.md).
import { allTiles, SAHTE } from "./tiles.js";

const text = new TextEncoder();

/** The SHA-256 of the seed. */
export const commitmentOf = async (seed) => new Uint8Array(await crypto.subtle.digest("SHA-256", seed));

const lengthPrefixed = (field) => {
  const prefixed = new Uint8Array(4 + field.length);
  new DataView(prefixed.buffer).setUint32(0, field.length);
  prefixed.set(field, 4);
  return prefixed;
};

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

class WordStream {
  #key;
  #message;
  #block = 0;
  #words = [];

  constructor(key, message) {
    this.#key = key;
    this.#message = message;
  }

  async below(n) {
    const limit = 2 ** 32 - (2 ** 32 % n);
    let drawn = await this.#next();
    while (drawn >= limit) drawn = await this.#next();
    return drawn % n;
  }

  async #next() {
    if (this.#words.length === 0) {
      const counter = new Uint8Array(8);
      new DataView(counter.buffer).setUint32(4, this.#block);
      this.#block += 1;
      const digest = await crypto.subtle.sign("HMAC", this.#key, joined([this.#message, counter]));
      const view = new DataView(digest);
      this.#words = [0, 4, 8, 12, 16, 20, 24, 28].map((start) => view.getUint32(start));
    }
    return this.#words.shift();
  }
}

/** First dealer, gösterge and the 105 tiles in order that follow from seed and context; nonces are bytes by seat. */
export async function shuffle({ seed, tableId, matchNo, roundNo, nonces }) {
  const words = ["okey-deal-1", tableId, String(matchNo), String(roundNo)].map((field) => text.encode(field));
  const message = joined([...words, ...nonces].map(lengthPrefixed));
  const key = await crypto.subtle.importKey("raw", seed, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const stream = new WordStream(key, message);
  const tiles = allTiles();
  for (let last = tiles.length - 1; last >= 1; last -= 1) {
    const chosen = await stream.below(last + 1);
    [tiles[last], tiles[chosen]] = [tiles[chosen], tiles[last]];
  }
  const firstDealer = await stream.below(nonces.length);
  const numberPlaces = [...tiles.keys()].filter((place) => tiles[place] !== SAHTE);
  const [gosterge] = tiles.splice(numberPlaces[await stream.below(numberPlaces.length)], 1);
  return { firstDealer, gosterge, tiles };
}

/** Racks by seat, and the stock: one tile at a time from the starter on, 14 each and one more for the starter. */
export function dealOut(tiles, seatCount, playing, starter) {
  const first = playing.indexOf(starter);
  const order = [...playing.slice(first), ...playing.slice(0, first)];
  const racks = Array.from({ length: seatCount }, () => []);
  const dealt = 14 * order.length;
  tiles.slice(0, dealt).forEach((tile, place) => racks[order[place % order.length]].push(tile));
  racks[starter].push(tiles[dealt]);
  return { racks, stock: tiles.slice(dealt + 1) };
}

const isEqual = (one, other) => one.length === other.length && one.every((value, place) => value === other[place]);
const isSameRack = (one, other) => isEqual([...one].sort(), [...other].sort());

/**
 * What a finished round proves, line by line: `[{line, isRight}]`.
 *
 * `round` is what `finishedRound` of replay.js makes of ListEvents; `seen` the commitment that this browser saw before
 * the deal, `ownNonce` the one it sent (bytes, or null where it does not know).
 */
export async function checkDeal(round, { seen = null, ownNonce = null } = {}) {
  const commitment = await commitmentOf(round.seed);
  const lines = [{ line: "commitment", isRight: isEqual(commitment, round.commitment) }];
  if (seen) lines.push({ line: "seen", isRight: isEqual(commitment, seen) });
  const deal = await shuffle(round);
  const { racks, stock } = dealOut(deal.tiles, round.racks.length, round.playing, round.starter);
  lines.push({ line: "gosterge", isRight: deal.gosterge === round.gosterge });
  lines.push({ line: "racks", isRight: racks.every((rack, seat) => isSameRack(rack, round.racks[seat])) });
  lines.push({ line: "stock", isRight: isEqual(stock, round.stock) });
  const isFirst = round.matchNo === 1 && round.roundNo === 1;
  if (isFirst) lines.push({ line: "dealer", isRight: deal.firstDealer === round.dealer });
  lines.push({ line: "draws", isRight: isEqual(round.drawn, stock.slice(0, round.drawn.length)) });
  if (ownNonce) lines.push({ line: "nonce", isRight: round.nonces.some((nonce) => isEqual(nonce, ownNonce)) });
  return lines;
}
