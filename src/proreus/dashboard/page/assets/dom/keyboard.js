// @ts-check
/** Shortcuts of the whole page, and the overlay that lists them. */

import { h } from "./element.js";
import { showDialog } from "./dialog.js";

/** @typedef {{keys: string, does: string, run?: () => void}} Shortcut */

/** @type {Shortcut[]} */
const shortcuts = [
  { keys: "/", does: "Filter what is listed", run: () => focusOn("[data-filter]") },
  { keys: "?", does: "These shortcuts", run: () => showShortcuts() },
  { keys: "↑ ↓ j k", does: "Move in a list" },
  { keys: "Enter", does: "Open what is selected" },
  { keys: "← →", does: "Fold and unfold in a tree" },
  { keys: "Esc", does: "Leave a field, close a dialog, go up" },
];
let prefix = "";

/** @param {Shortcut[]} more */
export function addShortcuts(more) {
  shortcuts.push(...more);
}

/** @param {() => void} goUp */
export function listenToKeys(goUp) {
  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof HTMLElement ? event.target : document.body;
    if ((event.ctrlKey || event.metaKey) && event.key === "k") {
      event.preventDefault();
      run("Ctrl K");
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") || target.closest("[data-keys='own']")) return;
    if (target.closest("input, textarea, select")) {
      if (event.key === "Escape") leaveField(target);
      return;
    }
    if (event.key === "Escape") goUp();
    else if (prefix && run(`${prefix} ${event.key}`)) prefix = "";
    else if (run(event.key)) prefix = "";
    else {
      prefix = event.key === "g" ? "g" : "";
      return;
    }
    event.preventDefault();
  });
}

/** @param {string} keys */
function run(keys) {
  const found = shortcuts.find((one) => one.keys === keys && one.run);
  found?.run?.();
  return found !== undefined;
}

/** @param {HTMLElement} field */
function leaveField(field) {
  field.blur();
  focusOn(".list");
}

/** @param {string} selector */
export function focusOn(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
  if (found instanceof HTMLInputElement) found.select();
}

function showShortcuts() {
  const rows = shortcuts.map(({ keys, does }) =>
    h("div", { class: "shortcut" }, h("span", {}, ...keys.split(" ").map((key) => h("kbd", {}, key))), h("span", {}, does)),
  );
  showDialog("Shortcuts", h("div", { class: "shortcuts" }, ...rows), []);
}
