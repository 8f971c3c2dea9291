// Elements from plain calls, and a morph that makes a living tree equal to a new one without losing focus or scroll.
//
// Views return fresh trees; nothing in them has a listener. What an element does stands in `data-do`, and one listener
// at the root of each screen reads it.

const SVG = "http://www.w3.org/2000/svg";

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "vars") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
  else if (name === "value") element.value = value;
  else element.setAttribute(name, value === true ? "" : value);
}

function make(element, attributes, children) {
  for (const child of children.flat(3))
    if (child !== null && child !== undefined && child !== false) element.append(child);
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  return element;
}

/** An HTML element; `vars` are CSS variables. Children are elements, texts, lists of them, or nothing. */
export const h = (tag, attributes, ...children) => make(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes, ...children) => make(document.createElementNS(SVG, tag), attributes, children);

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null);

const isSameKind = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

/** Make `from` look like `to`, changing only what differs. They are of one kind. */
export function morph(from, to) {
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  morphAttributes(from, to);
  if (from.hasAttribute("data-keep")) return;
  morphChildren(from, to);
}

function morphAttributes(from, to) {
  for (const { name } of [...from.attributes])
    if (!to.hasAttribute(name) && !(name === "open" || (name === "style" && from.hasAttribute("data-moves"))))
      from.removeAttribute(name);
  for (const { name, value } of to.attributes)
    if (name === "style") from.style.cssText = to.style.cssText;
    else if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  if (from.nodeName === "INPUT" && from !== document.activeElement && from.type !== "checkbox") from.value = to.value;
}

function morphChildren(from, to) {
  const keyed = new Map();
  for (const child of from.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const known = keyOf(wanted) ? keyed.get(keyOf(wanted)) : at;
    if (known && isSameKind(known, wanted)) {
      if (known !== at) from.insertBefore(known, at);
      else at = at.nextSibling;
      morph(known, wanted);
    } else {
      from.insertBefore(wanted, at);
      if (at && !keyOf(at) && !isStillWanted(at, to)) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

const isStillWanted = (node, to) => [...to.childNodes].some((wanted) => keyOf(node) && keyOf(wanted) === keyOf(node));

/** Show a new tree in place of what `root` holds. */
export function show(root, tree) {
  const wanted = root.cloneNode(false);
  wanted.append(tree);
  morphChildren(root, wanted);
}
