// A tile: ivory, a number in its colour, and below it the colour's shape, so that no colour need be told by eye.
import { tileText } from "../core/i18n.js";
import { colourOf, numberOf, SAHTE } from "../core/tiles.js";
import { h, s } from "./dom.js";

const SHAPES = {
  R: "M12 21C5 15.5 2.5 12 2.5 8.2 2.5 5.3 4.7 3 7.4 3c1.9 0 3.5 1 4.6 2.8C13.1 4 14.7 3 16.6 3c2.7 0 4.9 2.3 4.9 5.2 0 3.8-2.5 7.3-9.5 12.8z",
  Y: "M12 2.2l2.9 6.4 6.9.7-5.2 4.7 1.5 6.9-6.1-3.6-6.1 3.6 1.5-6.9-5.2-4.7 6.9-.7z",
  B: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 5a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
  K: "M12 2l8.5 10L12 22 3.5 12z",
  S: "M12 1.8l2 5.3 5.2-2.3-2.3 5.2 5.3 2-5.3 2 2.3 5.2-5.2-2.3-2 5.3-2-5.3-5.2 2.3 2.3-5.2-5.3-2 5.3-2-2.3-5.2 5.2 2.3z",
};

const shape = (colour) =>
  s("svg", { class: "tile-shape", viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: SHAPES[colour] }));

/** What is on a tile's face. */
export function faceParts(tile) {
  if (tile === SAHTE) return [shape("S")];
  return [h("span", { class: "tile-number", "aria-hidden": "true" }, String(numberOf(tile))), shape(colourOf(tile))];
}

/** The classes of a tile; the real okey wears a mark. */
export const tileClass = (tile, okey) =>
  `tile tile-${tile ? colourOf(tile) : "back"}${tile && tile === okey ? " is-okey" : ""}`;

/** A tile that is only looked at, or the back of one (null). */
export function tileView(t, tile, okey = null, attributes = {}) {
  const { class: more = "", ...others } = attributes;
  return h(
    "span",
    { class: `${tileClass(tile, okey)} ${more}`.trim(), role: "img", "aria-label": tileText(t, tile, okey), ...others },
    tile ? faceParts(tile) : null,
  );
}

/** Several tiles in a row. */
export const tilesView = (t, tiles, okey, label) =>
  h(
    "span",
    { class: "tiles", role: "group", "aria-label": label },
    tiles.map((tile) => tileView(t, tile, okey)),
  );
