// The page's own icons, so that nothing depends on a machine's fonts.
import { s } from "./dom.js";

const PATHS = {
  back: "M15 5l-7 7 7 7",
  menu: "M4 7h16M4 12h16M4 17h16",
  scale: "M12 4v16M7 20h10M5 7h14M5 7l-3 7a3.5 3.5 0 0 0 6 0zM19 7l-3 7a3.5 3.5 0 0 0 6 0z",
  close: "M6 6l12 12M18 6L6 18",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  robot:
    "M12 3v3M6 8h12a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2zM9 12v1.5M15 12v1.5M9.5 16h5M2 12v3M22 12v3",
  plus: "M12 5v14M5 12h14",
  eye: "M2 12s3.5-6 10-6 10 6 10 6-3.5 6-10 6S2 12 2 12zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
  first: "M18 6l-8 6 8 6zM7 6v12",
  next: "M6 6l8 6-8 6zM17 6v12",
  play: "M7 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
};

/** An icon, drawn in the colour of the text around it. */
export const icon = (name) =>
  s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
