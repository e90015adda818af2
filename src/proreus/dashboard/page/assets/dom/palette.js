// @ts-check
/** The command palette: a few letters, and Enter goes there. */

import { h, replace } from "./element.js";

/** @typedef {{label: string, hint: string, run: () => void}} Command */

const SHOWN_MAX = 12;

/** @param {Command[]} commands */
export function showPalette(commands) {
  let selected = 0;
  /** @type {Command[]} */
  let found = [];
  const results = h("div", { class: "results", role: "listbox", "aria-label": "Commands" });
  const field = h("input", {
    type: "text", placeholder: "Go to a kind or a view…", "aria-label": "Command", autocomplete: "off", spellcheck: "false",
  });
  const dialog = h("dialog", { class: "palette", "aria-label": "Go to" }, field, results);

  const draw = () => {
    const rows = found.map(({ label, hint }, index) =>
      h("div", { class: "result", role: "option", "aria-selected": String(index === selected), onclick: () => run(index) },
        h("span", {}, label), h("span", { class: "faint" }, hint)),
    );
    replace(results, ...rows);
  };
  const search = () => {
    found = ranked(commands, field.value).slice(0, SHOWN_MAX);
    selected = 0;
    draw();
  };
  const run = (/** @type {number} */ index) => {
    dialog.close();
    found[index]?.run();
  };

  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") run(selected);
    else if (step) {
      selected = (selected + step + found.length) % Math.max(1, found.length);
      draw();
    } else return;
    event.preventDefault();
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  search();
}

/** @param {Command[]} commands @param {string} wanted */
export function ranked(commands, wanted) {
  const letters = wanted.trim().toLowerCase();
  return commands
    .map((command) => ({ command, rank: rankOf(`${command.label} ${command.hint}`.toLowerCase(), letters) }))
    .filter(({ rank }) => rank >= 0)
    .sort((one, other) => one.rank - other.rank)
    .map(({ command }) => command);
}

/** Small is good, negative is no match. @param {string} text @param {string} letters */
function rankOf(text, letters) {
  const whole = text.indexOf(letters);
  if (whole >= 0) return whole;
  let at = -1;
  for (const letter of letters) {
    at = text.indexOf(letter, at + 1);
    if (at < 0) return -1;
  }
  return 1_000 + at;
}
