// @ts-check
/**
 * A list of any length of which only the visible rows are elements. Rows are reused while it is
 * scrolled; a drawing touches what is on the screen and nothing else.
 */

import { h } from "./element.js";
import { perFrame } from "./frames.js";

const ROW_PX = 28;
const MARGIN_ROWS = 6;

/**
 * @template T
 * @typedef {object} ListOptions
 * @property {() => HTMLElement} make An empty row.
 * @property {(row: HTMLElement, item: T, index: number) => void} fill
 * @property {(item: T, event: Event) => void} [open] Enter or a click.
 * @property {(item: T, key: string) => boolean} [key] Other keys; true if it meant something.
 * @property {(item: T) => string} identity Keeps the selection on its item while others come and go.
 * @property {string} label
 * @property {number} [rowPx]
 * @property {AbortSignal} signal
 */

/** @template T */
export class VirtualList {
  /** @param {ListOptions<T>} options */
  constructor(options) {
    this.options = options;
    this.rowPx = options.rowPx ?? ROW_PX;
    /** @type {readonly T[]} */
    this.items = [];
    /** @type {HTMLElement[]} */
    this.rows = [];
    this.selected = "";
    this.index = -1;
    this.spacer = h("div", { class: "spacer" });
    this.element = h(
      "div",
      { class: "list", role: "listbox", tabindex: 0, "aria-label": options.label },
      this.spacer,
    );
    this.draw = perFrame(() => this.#draw(), options.signal);
    this.element.addEventListener("scroll", this.draw, { passive: true });
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("click", (event) => this.#onClick(event));
    const resized = new ResizeObserver(this.draw);
    resized.observe(this.element);
    options.signal.addEventListener("abort", () => resized.disconnect());
  }

  /** @param {readonly T[]} items */
  show(items) {
    this.items = items;
    this.draw();
  }

  get current() {
    return this.items[this.index];
  }

  #draw() {
    const { items, element, options } = this;
    this.#keepSelection();
    this.spacer.style.height = `${items.length * this.rowPx}px`;
    const first = Math.max(0, Math.floor(element.scrollTop / this.rowPx) - MARGIN_ROWS);
    const count = Math.ceil(element.clientHeight / this.rowPx) + 2 * MARGIN_ROWS;
    const last = Math.min(items.length, first + count);
    while (this.rows.length < last - first) this.#addRow();
    const size = this.rows.length;
    for (let slot = 0; slot < size; slot++) {
      // An index always has the same element, so scrolling by a row fills one row.
      const index = first + ((((slot - first) % size) + size) % size);
      const row = this.rows[slot];
      row.hidden = index >= last;
      if (row.hidden) continue;
      row.style.transform = `translateY(${index * this.rowPx}px)`;
      row.dataset.index = String(index);
      row.setAttribute("aria-posinset", String(index + 1));
      row.setAttribute("aria-setsize", String(items.length));
      row.setAttribute("aria-selected", String(index === this.index));
      options.fill(row, items[index], index);
    }
  }

  #addRow() {
    const row = this.options.make();
    row.classList.add("row");
    row.setAttribute("role", "option");
    row.id = `row-${this.options.label.replace(/\W/g, "-")}-${this.rows.length}`;
    this.rows.push(row);
    this.spacer.append(row);
  }

  #keepSelection() {
    if (!this.selected) return;
    const item = this.items[this.index];
    if (item !== undefined && this.options.identity(item) === this.selected) return;
    this.index = this.items.findIndex((one) => this.options.identity(one) === this.selected);
  }

  /** @param {number} index */
  select(index) {
    if (!this.items.length) return;
    this.index = Math.max(0, Math.min(this.items.length - 1, index));
    this.selected = this.options.identity(this.items[this.index]);
    const { element } = this;
    const top = this.index * this.rowPx;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + this.rowPx > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + this.rowPx - element.clientHeight;
    }
    this.#draw();
    const shown = this.rows.find((row) => !row.hidden && row.dataset.index === String(this.index));
    if (shown) element.setAttribute("aria-activedescendant", shown.id);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowPx) - 1);
    const moves = /** @type {Record<string, number>} */ ({
      ArrowDown: this.index + 1, ArrowUp: this.index - 1, j: this.index + 1, k: this.index - 1,
      PageDown: this.index + page, PageUp: this.index - page, Home: 0, End: this.items.length - 1,
    });
    if (event.key in moves) this.select(moves[event.key]);
    else if (event.key === "Enter" && this.current) this.options.open?.(this.current, event);
    else if (!this.current || !this.options.key?.(this.current, event.key)) return;
    event.preventDefault();
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const target = event.target instanceof Element ? event.target : null;
    const row = target?.closest(".row");
    if (!(row instanceof HTMLElement) || target?.closest("a, button")) return;
    this.select(Number(row.dataset.index));
    if (this.current) this.options.open?.(this.current, event);
  }
}
