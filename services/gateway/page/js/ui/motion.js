// Tiles that fly: from the stock to a hand, from a hand to a pile. Nothing moves for those who wish so.

const FLIGHT_MS = 320;
const EASE = "cubic-bezier(.2,.75,.25,1)";

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Let an element arrive from a box where it (or what it was) lay before. */
export function arrive(element, from) {
  if (!element || !from || isStill()) return;
  const to = element.getBoundingClientRect();
  if (!to.width || !from.width) return;
  const shift = `translate(${from.left + from.width / 2 - to.left - to.width / 2}px, ${from.top + from.height / 2 - to.top - to.height / 2}px)`;
  element.classList.add("is-flying");
  const flight = element.animate([{ transform: `${shift} scale(${from.width / to.width})` }, { transform: "none" }], {
    duration: FLIGHT_MS,
    easing: EASE,
  });
  flight.onfinish = flight.oncancel = () => element.classList.remove("is-flying");
}

const boxOf = (root, selector) => root.querySelector(selector)?.getBoundingClientRect();

/** Where things are before the table is drawn anew, to know later where they came from. */
export function remember(root) {
  const piles = new Map();
  for (const pile of root.querySelectorAll("[data-pile]")) {
    const top = pile.querySelector(".pile-0") ?? pile;
    piles.set(Number(pile.dataset.pile), top.getBoundingClientRect());
  }
  return { piles, stock: boxOf(root, "[data-stock] .tile") };
}

const handOf = (root, seat) =>
  boxOf(root, `[data-seat-backs="${seat}"] .back:last-child`) ?? boxOf(root, `[data-seat="${seat}"] .avatar`);

/** Show what the events did: `before` is what `remember` found, `own` where the viewer's moved tile was. */
export function fly(root, events, { before, viewer, newest, own }) {
  for (const { kind, body } of events) {
    const seat = body.seat ?? 0;
    if (kind === "tile_drawn") {
      const isStock = body.source === "DRAW_SOURCE_STOCK";
      const from = isStock ? before.stock : before.piles.get(before.takenFrom);
      const target =
        seat === viewer ? `.slot[data-slot="${newest}"] .tile` : `[data-seat-backs="${seat}"] .back:last-child`;
      if (seat !== viewer || !own) arrive(root.querySelector(target), from);
    } else if (kind === "tile_discarded") {
      const top = root.querySelector(`[data-pile="${seat}"] .pile-0`);
      arrive(top, (seat === viewer && own) || handOf(root, seat));
    } else if (kind === "round_dealt") dealIn(root, before.stock ?? boxOf(root, "[data-stock] .tile"));
  }
}

function dealIn(root, from) {
  if (isStill() || !from) return;
  root.querySelectorAll(".rack .tile").forEach((tile, place) => {
    const to = tile.getBoundingClientRect();
    tile.animate(
      [
        { transform: `translate(${from.left - to.left}px, ${from.top - to.top}px)`, opacity: 0 },
        { transform: "none", opacity: 1 },
      ],
      { duration: 380, delay: place * 35, easing: EASE, fill: "backwards" },
    );
  });
}

/** A short shake, for a finish that was none. */
export function shake(element) {
  if (!element || isStill()) return;
  element.animate(
    [0, -7, 6, -4, 3, 0].map((x) => ({ transform: `translateX(${x}px)` })),
    { duration: 380 },
  );
}

/** Keep every running clock on the screen going; `clock` is the server's. */
export function tick(root, clock, clockText) {
  for (const element of root.querySelectorAll("[data-deadline]")) {
    const left = clock.leftMs(Number(element.dataset.deadline));
    const total = Number(element.dataset.total ?? 0);
    if (total) element.style.setProperty("--share", String(Math.min(1, left / total)));
    element.classList.toggle("is-urgent", left < 10_000);
    const text = element.matches("[data-clock]") ? element : element.querySelector("[data-clock]");
    const words = clockText(left);
    if (text && text.textContent !== words) text.textContent = words;
  }
}
