// One dialog at a time, on the browser's own <dialog>: it keeps the focus in, and Escape closes it.
import { h, show } from "./dom.js";
import { icon } from "./icons.js";

/** The dialog of the page; `onDo(action, element)` hears its buttons. */
export class Dialog {
  #element = document.getElementById("dialog");
  #onClose = null;
  #name = "";

  constructor(onDo) {
    this.#element.addEventListener("close", () => this.#closed());
    this.#element.addEventListener("click", (event) => {
      const button = event.target.closest("[data-do]");
      if (button) onDo(button.dataset.do, button);
      else if (event.target === this.#element) this.close();
    });
    this.#element.addEventListener("input", (event) => {
      const input = event.target.closest("[data-input]");
      if (input) onDo(input.dataset.input, input);
    });
    this.#element.addEventListener("submit", (event) => {
      event.preventDefault();
      onDo(event.target.dataset.submit, event.target);
    });
  }

  /** The name of what is open, or "". */
  get name() {
    return this.#name;
  }

  /** Show this content under a title, in place of whatever is open. */
  show(name, title, content, { closeLabel, isWide = false, onClose = null } = {}) {
    const isNew = this.#name !== name;
    this.#name = name;
    this.#onClose = onClose;
    this.#element.classList.toggle("is-wide", isWide);
    show(
      this.#element,
      h(
        "div",
        { class: "dialog-body", "data-key": name },
        h(
          "div",
          { class: "dialog-head" },
          h("h2", { id: "dialog-title", tabindex: -1 }, title),
          closeLabel
            ? h(
                "button",
                { class: "icon-button", type: "button", "data-do": "closeDialog", "aria-label": closeLabel },
                icon("close"),
              )
            : null,
        ),
        content,
      ),
    );
    if (!this.#element.open) this.#element.showModal();
    if (isNew) (this.#element.querySelector("[autofocus]") ?? this.#element.querySelector("h2")).focus();
  }

  close() {
    if (this.#element.open) this.#element.close();
  }

  #closed() {
    const onClose = this.#onClose;
    this.#name = "";
    this.#onClose = null;
    onClose?.();
  }
}
