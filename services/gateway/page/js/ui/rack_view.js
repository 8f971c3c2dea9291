// The own rack: two rows of slots on wood. One tile is in the tab order; arrow keys walk from tile to tile.
import { tileText } from "../core/i18n.js";
import { ROW } from "../core/rack.js";
import { h } from "./dom.js";
import { faceParts, tileClass } from "./tile_view.js";

function slotView(t, model, slot) {
  const tile = model.slots[slot];
  const attributes = { class: "slot", "data-slot": slot, "data-drop": `slot:${slot}`, "data-do": tile ? null : "slot" };
  return h("div", { ...attributes, "data-key": `slot-${slot}` }, tile ? tileButton(t, model, slot, tile) : null);
}

function tileButton(t, model, slot, tile) {
  const { okey, drawn } = model.table.round;
  const states = [
    model.selected === slot && "is-selected",
    model.picked === slot && "is-picked",
    model.loose.has(slot) && "is-loose",
    model.leaving === slot && "is-leaving",
    model.newest === slot && drawn === tile && "is-new",
  ];
  return h(
    "button",
    {
      class: [tileClass(tile, okey), ...states].filter(Boolean).join(" "),
      type: "button",
      "data-do": "tile",
      "data-slot": slot,
      "data-tile": tile,
      "data-drag": "tile",
      "data-moves": true,
      "data-key": `tile-${slot}`,
      "aria-pressed": String(model.selected === slot),
      "aria-label": t(model.picked === slot ? "rack.picked" : "rack.tile", {
        tile: tileText(t, tile, okey),
        row: Math.floor(slot / ROW) + 1,
        place: (slot % ROW) + 1,
      }),
      tabindex: model.focusSlot === slot ? 0 : -1,
    },
    faceParts(tile),
  );
}

/** The rack with its tiles. */
export function rackView(t, model) {
  const rows = [0, 1].map((row) =>
    h(
      "div",
      { class: "rack-row", "data-key": `row-${row}` },
      [...Array(ROW).keys()].map((place) => slotView(t, model, row * ROW + place)),
    ),
  );
  return h(
    "div",
    { class: "rack", id: "rack", role: "group", "aria-label": t("rack.label"), "aria-describedby": "rack-help" },
    rows,
    h("p", { class: "hidden", id: "rack-help" }, t("rack.help")),
  );
}
