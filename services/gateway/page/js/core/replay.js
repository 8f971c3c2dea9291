// A finished round, nothing hidden (ListEvents), as facts for the fairness check and as frames to watch.
import { tileFrom } from "./tiles.js";

/** Bytes of a base64 text. */
export const bytesOf = (base64) => Uint8Array.from(atob(base64 ?? ""), (letter) => letter.charCodeAt(0));

const tiles = (rack) => (rack?.tiles ?? []).map(tileFrom);
const eventOf = (event) => Object.entries(event)[0] ?? ["", {}];

/** Every event of the rows, in order, as `{kind, body, atMs}`. */
export const eventsOf = (rows) =>
  rows.flatMap((row) =>
    (row.events ?? []).map(eventOf).map(([kind, body]) => ({ kind, body, atMs: Number(row.at_ms ?? 0) })),
  );

/** What `checkDeal` wants to know of a round. */
export function finishedRound(tableId, matchNo, roundNo, response) {
  const events = eventsOf(response.rows ?? []);
  const dealt = events.find((event) => event.kind === "round_dealt").body;
  const ended = events.find((event) => event.kind === "round_ended" || event.kind === "match_voided").body;
  const fromStock = (event) => event.kind === "tile_drawn" && event.body.source === "DRAW_SOURCE_STOCK";
  return {
    tableId,
    matchNo,
    roundNo,
    commitment: bytesOf(response.commitment),
    seed: bytesOf(ended.revealed),
    nonces: (dealt.nonces ?? []).map(bytesOf),
    playing: (dealt.playing ?? []).map(Number),
    dealer: dealt.dealer ?? 0,
    starter: dealt.starter ?? 0,
    gosterge: tileFrom(dealt.gosterge),
    racks: (dealt.racks ?? []).map(tiles),
    stock: (dealt.stock ?? []).map(tileFrom),
    drawn: events.filter(fromStock).map((event) => tileFrom(event.body.tile)),
  };
}

const without = (rack, tile) => {
  const place = rack.indexOf(tile);
  return place < 0 ? rack : [...rack.slice(0, place), ...rack.slice(place + 1)];
};

const replaced = (list, place, value) => list.map((old, at) => (at === place ? value : old));

function drawn(frame, { seat = 0, source, tile: name, is_neutral: isNeutral = false }) {
  const tile = tileFrom(name);
  const from = frame.playing[(frame.playing.indexOf(seat) + frame.playing.length - 1) % frame.playing.length];
  const isStock = source === "DRAW_SOURCE_STOCK";
  return {
    ...frame,
    racks: replaced(frame.racks, seat, [...frame.racks[seat], tile]),
    piles: isStock ? frame.piles : replaced(frame.piles, from, frame.piles[from].slice(0, -1)),
    stockCount: frame.stockCount - (isStock ? 1 : 0),
    said: { kind: isStock ? "drewStock" : "drewDiscard", seat, tile, isNeutral },
  };
}

function discarded(frame, { seat = 0, tile: name, is_neutral: isNeutral = false }) {
  const tile = tileFrom(name);
  return {
    ...frame,
    racks: replaced(frame.racks, seat, without(frame.racks[seat], tile)),
    piles: replaced(frame.piles, seat, [...frame.piles[seat], tile]),
    said: { kind: "discarded", seat, tile, isNeutral },
  };
}

function ended(frame, body) {
  const isWon = body.result === "ROUND_RESULT_WON";
  return {
    ...frame,
    racks: (body.racks ?? []).map(tiles),
    laid: tileFrom(body.laid),
    said: { kind: isWon ? "finished" : "drawnRound", seat: isWon ? (body.seat ?? 0) : -1, tile: tileFrom(body.laid) },
  };
}

const STEPS = {
  turn_started: (frame, body) => ({ ...frame, turn: body.seat ?? 0, said: null }),
  tile_drawn: drawn,
  tile_discarded: discarded,
  cift_announced: (frame, body) => ({ ...frame, said: { kind: "announcedCift", seat: body.seat ?? 0 } }),
  cift_withdrawn: (frame, body) => ({ ...frame, said: { kind: "withdrewCift", seat: body.seat ?? 0 } }),
  gosterge_shown: (frame, body) => ({ ...frame, said: { kind: "showedGosterge", seat: body.seat ?? 0 } }),
  stand_in_seated: (frame, body) => ({ ...frame, said: { kind: "standIn", seat: body.seat ?? 0 } }),
  player_returned: (frame, body) => ({ ...frame, said: { kind: "returned", seat: body.seat ?? 0 } }),
  seat_forfeited: (frame, body) => ({ ...frame, said: { kind: "gaveUp", seat: body.seat ?? 0 } }),
  match_claimed: (frame, body) => ({ ...frame, said: { kind: "claimed", seat: body.seat ?? 0 } }),
  round_ended: ended,
};

/** The round as it stood after each thing that is worth a look: racks and piles by seat, stock, turn, what happened. */
export function framesOf(response) {
  const frames = [];
  let frame = null;
  for (const { kind, body, atMs } of eventsOf(response.rows ?? [])) {
    if (kind === "round_dealt") frame = { ...firstFrame(body), atMs };
    else if (frame && STEPS[kind]) frame = { ...STEPS[kind](frame, body), atMs };
    else continue;
    if (frame.said) frames.push(frame);
  }
  return frames;
}

const firstFrame = (dealt) => ({
  playing: (dealt.playing ?? []).map(Number),
  gosterge: tileFrom(dealt.gosterge),
  okey: tileFrom(dealt.okey),
  racks: (dealt.racks ?? []).map(tiles),
  piles: (dealt.racks ?? []).map(() => []),
  stockCount: dealt.stock_count ?? (dealt.stock ?? []).length,
  turn: dealt.starter ?? 0,
  laid: null,
  said: { kind: "dealt", seat: dealt.starter ?? 0 },
});
