// @ts-check
/** Any kind as a live table: columns and cells are the server's own Table view. */

import { followLive } from "../api/connection.js";
import { findKind } from "../api/discovery.js";
import { collectionPath, kindHref, objectHref } from "../api/paths.js";
import { h, replace, setText } from "../dom/element.js";
import { every, perFrame, settled } from "../dom/frames.js";
import { VirtualList } from "../dom/virtual_list.js";
import { age, counted, tone } from "../text/format.js";
import { OrderedRows, compareCells, matcher } from "../text/ordered_rows.js";
import { currentNamespace } from "./scope.js";

/** @typedef {import("../types.js").Row} Row */
/** @typedef {import("../types.js").Kind} Kind */
/** @typedef {import("../types.js").Column} Column */

const WIDEST_CELL = 48;
const STATES = new Set(["Status", "Phase", "Type", "Ready", "Available", "Established"]);

/** @param {any} row @returns {Row} */
export function readRow({ cells, object }) {
  const { uid, name, namespace = "", creationTimestamp = "", deletionTimestamp = "" } = object.metadata;
  return { cells, uid: uid ?? `${namespace}/${name}`, name, namespace, created: creationTimestamp, deleted: deletionTimestamp };
}

/** What the table shows: columns in order, each with its text of a row. */
export class TableLayout {
  /** @param {Kind} kind @param {boolean} hasNamespaces */
  constructor(kind, hasNamespaces) {
    this.kind = kind;
    this.hasNamespaces = hasNamespaces;
    this.isWide = false;
    /** @type {Column[]} */
    this.definitions = [];
    /** @type {{name: string, text: (row: Row) => string, key: (row: Row) => unknown, description: string}[]} */
    this.columns = [];
    /** @type {number[]} */
    this.widths = [];
  }

  /** @param {Column[]} definitions */
  define(definitions) {
    this.definitions = definitions;
    this.columns = definitions.flatMap((column, index) => {
      if (column.priority > 0 && !this.isWide) return [];
      const isAge = column.name === "Age";
      return [{
        name: column.name,
        description: column.description,
        text: isAge ? (/** @type {Row} */ row) => age(row.created) : (/** @type {Row} */ row) => String(row.cells[index] ?? ""),
        // The youngest has the smallest age.
        key: isAge ? (/** @type {Row} */ row) => -Date.parse(row.created) : (/** @type {Row} */ row) => row.cells[index],
      }];
    });
    if (this.hasNamespaces) {
      this.columns.splice(1, 0, {
        name: "Namespace", description: "", text: (row) => row.namespace, key: (row) => row.namespace,
      });
    }
    this.widths = this.columns.map((column) => column.name.length + 3);
  }

  /** Widens columns for a text; true if one grew. @param {number} column @param {number} length */
  widen(column, length) {
    const wanted = Math.min(length, WIDEST_CELL);
    if (wanted <= this.widths[column]) return false;
    this.widths[column] = wanted;
    return true;
  }

  get template() {
    const last = this.widths.length - 1;
    return this.widths
      .map((width, index) => (index === 0 ? `minmax(${width + 2}ch, 1.6fr)` : index === last ? `minmax(${width + 2}ch, 1fr)` : `minmax(${width + 1}ch, .7fr)`))
      .join(" ");
  }
}

/** @param {TableLayout} layout @param {HTMLElement} row @param {Row} item @param {() => void} grew */
export function fillRow(layout, row, item, grew) {
  while (row.children.length < layout.columns.length) row.append(h("span", { class: "cell" }));
  while (row.children.length > layout.columns.length) row.lastElementChild?.remove();
  row.classList.toggle("leaving", item.deleted !== "");
  layout.columns.forEach((column, index) => {
    const cell = /** @type {HTMLElement} */ (row.children[index]);
    const text = column.text(item);
    setText(cell, text);
    const state = STATES.has(column.name) ? tone(text) : "";
    if (cell.dataset.tone !== state) cell.dataset.tone = state;
    if (layout.widen(index, text.length)) grew();
  });
}

/** @param {import("../types.js").Visit} visit */
export async function showKindTable({ root, place, signal }) {
  const [, group, version, resource] = place.path;
  const kind = await findKind(group === "core" ? "" : group, resource, version);
  if (!kind) {
    replace(root, h("p", { class: "empty" }, `The server does not serve ${resource}.`));
    return;
  }
  const namespace = kind.namespaced ? currentNamespace() : "";
  const layout = new TableLayout(kind, kind.namespaced && !namespace);
  /** @type {OrderedRows<Row>} */
  const rows = new OrderedRows(() => 0);
  const query = new Map(place.query);
  const order = { column: query.get("sort") ?? "", down: query.get("down") === "1" };

  const count = h("span", { class: "faint", "aria-live": "off" });
  const header = h("div", { class: "head" });
  const state = h("div", { class: "empty", hidden: true });
  const list = new VirtualList({
    label: kind.resource,
    signal,
    identity: (/** @type {Row} */ row) => row.uid,
    make: () => h("div", {}),
    fill: (row, item) => fillRow(layout, row, item, () => resized()),
    open: (item) => (location.hash = objectHref(kind, item.namespace, item.name)),
    key: (item, key) => {
      const tab = { l: "logs", y: "yaml", e: "events", s: "terminal" }[key];
      if (tab) location.hash = objectHref(kind, item.namespace, item.name, { tab });
      return tab !== undefined;
    },
  });
  const resized = perFrame(() => table.style.setProperty("--columns", layout.template), signal);
  const draw = perFrame(() => {
    const shown = rows.flush();
    list.show(shown);
    setText(count, shown.length === rows.all.size ? counted(shown.length, "object") : `${shown.length} of ${counted(rows.all.size, "object")}`);
  }, signal);

  const remember = () => {
    const kept = { filter: filter.value, selector: selector.value, fields: query.get("fields") ?? "", sort: order.column, down: order.down ? "1" : "" };
    history.replaceState(null, "", kindHref(kind, kept));
  };
  const applyFilter = () => {
    const matches = matcher(filter.value);
    rows.filterBy((row) => matches(`${row.namespace} ${row.cells.join(" ")}`));
    draw();
  };
  const filter = h("input", {
    type: "search", placeholder: "Filter  /", "aria-label": "Filter", "data-filter": true, value: query.get("filter") ?? "",
    oninput: () => (applyFilter(), remember()),
  });
  const selector = h("input", {
    type: "search", placeholder: "Label selector, e.g. app=web", "aria-label": "Label selector", value: query.get("selector") ?? "",
    oninput: settled(400, () => (remember(), start())),
  });
  const wide = h("button", { class: "quiet", "aria-pressed": "false", onclick: () => {
    layout.isWide = !layout.isWide;
    wide.setAttribute("aria-pressed", String(layout.isWide));
    layout.define(layout.definitions);
    drawHeader();
    draw();
  } }, "Wide");
  const table = h("div", { class: "table", "aria-live": "off" }, header, list.element);

  const applyOrder = () => {
    const column = layout.columns.find((one) => one.name === order.column);
    const sign = order.down ? -1 : 1;
    const byName = (/** @type {Row} */ one, /** @type {Row} */ other) =>
      compareCells(one.namespace, other.namespace) || compareCells(one.name, other.name);
    rows.orderBy(column ? (one, other) => sign * compareCells(column.key(one), column.key(other)) || byName(one, other) : byName);
    draw();
  };
  const drawHeader = () => {
    replace(header, ...layout.columns.map((column) => {
      const arrow = column.name === order.column ? (order.down ? " ↓" : " ↑") : "";
      const sort = () => {
        order.down = column.name === order.column && !order.down;
        order.column = column.name;
        drawHeader();
        remember();
      };
      return h("button", { class: "cell", title: column.description, onclick: sort }, `${column.name}${arrow}`);
    }));
    resized();
    applyOrder();
  };

  /** @type {AbortController | null} */
  let running = null;
  const start = () => {
    running?.abort();
    running = new AbortController();
    void followLive({
      path: collectionPath(kind, namespace),
      query: { labelSelector: selector.value.trim(), fieldSelector: query.get("fields") ?? "", includeObject: "Metadata" },
      table: true,
      read: readRow,
      replace: (items, page) => {
        layout.define(page.columnDefinitions);
        rows.replace(items);
        state.hidden = items.length > 0;
        setText(state, `No ${kind.resource}${namespace ? ` in ${namespace}` : ""}.`);
        drawHeader();
        applyFilter();
      },
      change: (type, row) => {
        if (type === "DELETED") rows.remove(row.uid);
        else rows.set(row);
        state.hidden = true;
        draw();
      },
      state: (now) => {
        if (now.phase !== "refused") return;
        state.hidden = false;
        setText(state, now.why);
      },
      signal: AbortSignal.any([signal, running.signal]),
    });
  };

  replace(root,
    h("header", { class: "bar" }, h("h1", {}, kind.kind, h("span", { class: "faint" }, kind.group || "core", "/", kind.version)), count,
      h("span", { class: "grow" }), filter, selector, wide),
    table, state);
  every(1_000, signal, () => list.draw());
  start();
  list.element.focus();
}
