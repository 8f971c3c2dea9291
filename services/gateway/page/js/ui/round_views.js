// A finished round to look at: move by move, and the check that its deal was fair.
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { tilesView, tileView } from "./tile_view.js";
import { tileText } from "../core/i18n.js";
import { byColour } from "../core/tiles.js";

function seatRow(t, frame, seat, name) {
  const pile = frame.piles[seat];
  return h(
    "li",
    { class: frame.turn === seat ? "is-turn" : null, "data-key": `replay-${seat}` },
    h("span", { class: "result-name" }, name),
    tilesView(t, [...frame.racks[seat]].sort(byColour(frame.okey)), frame.okey, t("result.rack", { name })),
    h("span", { class: "replay-pile" }, pile.length ? tileView(t, pile.at(-1), frame.okey) : null),
  );
}

/** What a frame says. */
export const frameText = (t, frame, nameOf) =>
  t(`said.${frame.said.kind}`, {
    name: nameOf(frame.said.seat),
    tile: frame.said.tile ? tileText(t, frame.said.tile, frame.okey) : "",
  });

/** The replay: all racks at one moment, and the way to the next. */
export function replayView(t, { frames, at, isRunning, nameOf }) {
  const frame = frames[at];
  const button = (action, label, text) =>
    h(
      "button",
      { class: "icon-button", type: "button", "data-do": action, "aria-label": label, title: label },
      icon(text),
    );
  return h(
    "div",
    { class: "replay" },
    h(
      "div",
      { class: "replay-centre" },
      h("span", null, t("gosterge.caption"), " ", tileView(t, frame.gosterge)),
      h("span", null, t("okey.caption"), " ", tileView(t, frame.okey, frame.okey)),
      h("span", null, t("stock.label", { count: frame.stockCount })),
      frame.laid ? h("span", null, t("replay.laid"), " ", tileView(t, frame.laid, frame.okey)) : null,
    ),
    h("p", { class: "replay-said", role: "status" }, frameText(t, frame, nameOf)),
    h(
      "ul",
      { class: "result-racks" },
      frame.playing.map((seat) => seatRow(t, frame, seat, nameOf(seat))),
    ),
    h(
      "div",
      { class: "replay-controls" },
      button("replayBack", t("replay.back"), "first"),
      button("replayRun", t(isRunning ? "replay.pause" : "replay.run"), isRunning ? "pause" : "play"),
      button("replayOn", t("replay.on"), "next"),
      h("input", {
        type: "range",
        min: 0,
        max: frames.length - 1,
        value: at,
        "data-input": "replayAt",
        "aria-label": t("replay.move"),
      }),
      h("span", { class: "replay-at" }, `${at + 1} / ${frames.length}`),
    ),
  );
}

/** Which finished rounds there are to look at: `rounds` is how many each match had, as far as known. */
export const roundPicker = (t, { matchNo, roundNo, matches, action }) =>
  h(
    "form",
    { class: "round-picker", "data-submit": action },
    h(
      "label",
      { class: "field" },
      h("span", null, t("fair.matchNo")),
      h("input", { type: "number", name: "match", min: 1, max: matches || null, value: matchNo, required: true }),
    ),
    h(
      "label",
      { class: "field" },
      h("span", null, t("fair.roundNo")),
      h("input", { type: "number", name: "round", min: 1, value: roundNo, required: true }),
    ),
    h("button", { class: "button", type: "submit" }, t("fair.look")),
  );

/** The lines of a check, each with what it proves; null while it runs. */
export function fairnessView(t, { lines, problem, commitment, picker }) {
  return h(
    "div",
    { class: "fairness" },
    h("p", { class: "note" }, t("fair.what")),
    commitment ? h("p", { class: "commitment" }, t("fair.running"), " ", h("code", null, commitment)) : null,
    picker,
    problem ? h("p", { class: "problem", role: "alert" }, problem) : null,
    lines
      ? h(
          "ul",
          { class: "checks", role: "status" },
          lines.map(({ line, isRight }) =>
            h(
              "li",
              { class: isRight ? "is-right" : "is-wrong" },
              h("span", { class: "mark", "aria-hidden": "true" }, isRight ? "✓" : "✗"),
              h("strong", null, t(isRight ? "fair.right" : "fair.wrong")),
              " ",
              t(`fair.${line}`),
            ),
          ),
        )
      : null,
  );
}
