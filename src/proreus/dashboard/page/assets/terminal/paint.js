// @ts-check
/** A screen as elements: a line of spans is made anew only if it differs from what is shown. */

import { h, replace } from "../dom/element.js";
import { ATTRIBUTE, NONE, readStyle } from "./screen.js";

/** @typedef {import("./screen.js").Screen} Screen */
/** @typedef {import("./screen.js").Cell} Cell */

const SIXTEEN = [
  "#2b3137", "#f87171", "#4ade80", "#fbbf24", "#60a5fa", "#c084fc", "#2dd4bf", "#d7dde2",
  "#66707a", "#fca5a5", "#86efac", "#fde68a", "#93c5fd", "#d8b4fe", "#5eead4", "#ffffff",
];
const TEXT = "#d7dde2";
const PAPER = "#101417";

/** @param {number} color */
function cssColor(color) {
  if (color < 16) return SIXTEEN[color];
  if (color >= 232) return `rgb(${Array(3).fill(8 + (color - 232) * 10).join(" ")})`;
  const level = (/** @type {number} */ value) => (value ? 55 + value * 40 : 0);
  const index = color - 16;
  return `rgb(${level(Math.floor(index / 36))} ${level(Math.floor(index / 6) % 6)} ${level(index % 6)})`;
}

export class Painter {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** @type {string[]} */
    this.painted = [];
  }

  /** @param {Screen} screen */
  paint(screen) {
    const lines = [...screen.scrolled, ...screen.lines];
    const cursorLine = screen.isCursorVisible ? screen.scrolled.length + screen.y : -1;
    while (this.element.children.length < lines.length) this.element.append(h("div", { class: "screen-line" }));
    while (this.element.children.length > lines.length) this.element.lastElementChild?.remove();
    this.painted.length = lines.length;
    lines.forEach((line, index) => {
      const cursor = index === cursorLine ? screen.x : -1;
      const key = `${cursor}|${line.map((cell) => `${cell.style}${cell.text}`).join("\0")}`;
      if (this.painted[index] === key) return;
      this.painted[index] = key;
      replace(this.element.children[index], ...spans(line, cursor));
    });
  }
}

/** @param {Cell[]} line @param {number} cursor */
function spans(line, cursor) {
  /** @type {Node[]} */
  const made = [];
  let from = 0;
  while (from < line.length) {
    const { style } = line[from];
    let to = from + 1;
    while (to < line.length && line[to].style === style && to !== cursor && from !== cursor) to++;
    const text = line.slice(from, to).map((cell) => cell.text).join("");
    made.push(span(text, style, from === cursor));
    from = to;
  }
  return made;
}

/** @param {string} text @param {number} style @param {boolean} isCursor */
function span(text, style, isCursor) {
  const { foreground, background, attributes } = readStyle(style);
  const names = Object.entries(ATTRIBUTE).flatMap(([name, bit]) => (attributes & bit ? [name] : []));
  const element = h("span", { class: [...names, isCursor ? "cursor" : ""].join(" ").trim() }, text);
  if (isCursor) return element;
  const isInverse = (attributes & ATTRIBUTE.inverse) !== 0;
  const ink = foreground === NONE ? (isInverse ? TEXT : "") : cssColor(foreground);
  const paper = background === NONE ? (isInverse ? PAPER : "") : cssColor(background);
  if (isInverse ? paper : ink) element.style.color = isInverse ? paper : ink;
  if (isInverse ? ink : paper) element.style.backgroundColor = isInverse ? ink : paper;
  return element;
}
