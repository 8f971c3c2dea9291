// Dragging with mouse, finger or pen: a ghost follows the pointer, the place under it is marked, a drop tells its place.

const STARTS_AFTER_PX = 6;
const LAYER = "drag-layer";

/** Watches `root`; `canDrag(element)` says whether one may start, `onDrop(element, place, point)` hears where it ends. */
export class Dragging {
  #root;
  #canDrag;
  #onDrop;
  #held = null;

  constructor(root, { canDrag, onDrop }) {
    this.#root = root;
    this.#canDrag = canDrag;
    this.#onDrop = onDrop;
    root.addEventListener("pointerdown", (event) => this.#press(event));
    root.addEventListener("pointermove", (event) => this.#moveTo(event));
    root.addEventListener("pointerup", (event) => this.#release(event));
    root.addEventListener("pointercancel", () => this.#end());
    root.addEventListener("click", (event) => this.#swallow(event), true);
  }

  /** Whether a tile hangs on the pointer now. */
  get isDragging() {
    return this.#held?.ghost !== undefined;
  }

  #press(event) {
    const element = event.target.closest("[data-drag]");
    if (!element || event.button !== 0 || !this.#canDrag(element)) return;
    this.#held = { element, id: event.pointerId, x: event.clientX, y: event.clientY };
  }

  #moveTo(event) {
    const held = this.#held;
    if (!held || event.pointerId !== held.id) return;
    const isFar = Math.hypot(event.clientX - held.x, event.clientY - held.y) > STARTS_AFTER_PX;
    if (!held.ghost && !isFar) return;
    if (!held.ghost) this.#start(held);
    held.ghost.style.transform = `translate(${event.clientX - held.x}px, ${event.clientY - held.y}px) rotate(2deg) scale(1.08)`;
    this.#mark(this.#placeAt(event.clientX, event.clientY));
  }

  #start(held) {
    const source = held.element.matches(".tile") ? held.element : [...held.element.querySelectorAll(".tile")].at(-1);
    const box = source.getBoundingClientRect();
    held.ghost = source.cloneNode(true);
    held.ghost.removeAttribute("data-key");
    held.ghost.classList.add("ghost");
    Object.assign(held.ghost.style, {
      left: `${box.left}px`,
      top: `${box.top}px`,
      width: `${box.width}px`,
      height: `${box.height}px`,
    });
    document.getElementById(LAYER).append(held.ghost);
    held.element.classList.add("is-dragged");
    this.#root.setPointerCapture?.(held.id);
    document.documentElement.classList.add("dragging");
  }

  #placeAt(x, y) {
    return document.elementFromPoint(x, y)?.closest("[data-drop]") ?? null;
  }

  #mark(place) {
    if (this.#held.place === place) return;
    this.#held.place?.classList.remove("is-over");
    place?.classList.add("is-over");
    this.#held.place = place;
  }

  #release(event) {
    const held = this.#held;
    if (!held || event.pointerId !== held.id) return;
    const place = held.ghost ? this.#placeAt(event.clientX, event.clientY) : null;
    const box = held.ghost?.getBoundingClientRect();
    const wasDragged = held.ghost !== undefined;
    this.#end();
    if (!wasDragged) return;
    this.#ignoreClick();
    if (place) this.#onDrop(held.element, place.dataset.drop, box);
  }

  #ignoreClick() {
    this.isClickIgnored = true;
    setTimeout(() => {
      this.isClickIgnored = false;
    });
  }

  #swallow(event) {
    if (!this.isClickIgnored) return;
    event.stopPropagation();
    event.preventDefault();
  }

  #end() {
    const held = this.#held;
    this.#held = null;
    if (!held) return;
    held.ghost?.remove();
    held.place?.classList.remove("is-over");
    held.element.classList.remove("is-dragged");
    document.documentElement.classList.remove("dragging");
  }
}
