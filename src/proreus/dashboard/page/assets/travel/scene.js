// @ts-check
/** What time travel shows: workloads as a forest, or one kind as a table. */

import { kindOf } from "../api/discovery.js";
import { objectHref } from "../api/paths.js";
import { h, replace } from "../dom/element.js";
import { VirtualList } from "../dom/virtual_list.js";
import { compareCells } from "../text/ordered_rows.js";
import { TableLayout, fillRow, readRow } from "../views/kind_table.js";
import { Forest, WORKLOADS, readMember } from "../views/ownership.js";
import { treeHead, treeList } from "../views/tree.js";
import { listAt } from "./past.js";

/** @typedef {import("../types.js").Kind} Kind */
/** @typedef {import("../types.js").Row} Row */

/**
 * @typedef {object} Scene
 * @property {Kind[]} kinds
 * @property {HTMLElement} element
 * @property {(revision: number, signal: AbortSignal) => Promise<number>} show How many objects there were.
 */

/** @param {Kind[]} kinds @param {string} namespace @param {AbortSignal} signal @param {() => number} now @returns {Scene} */
export function workloadScene(kinds, namespace, signal, now) {
  const forest = new Forest();
  const draw = () => list.show(forest.rows({ namespace, filter: "", hasOld: true }));
  const list = treeList({
    signal, now,
    toggled: (member) => (forest.toggle(member), draw()),
    hrefOf: (member) => {
      const kind = kindOf(member.group, member.resource);
      return kind ? objectHref(kind, member.namespace, member.name, { tab: "history" }) : location.hash;
    },
  });
  return {
    kinds,
    element: h("div", { class: "table workload" }, treeHead(), list.element),
    show: async (revision, until) => {
      const lists = await Promise.all(kinds.map((kind) => listAt(kind, namespace, revision, until)));
      if (until.aborted) return 0;
      kinds.forEach((kind, index) => {
        const of = WORKLOADS.find((one) => one.group === kind.group && one.resource === kind.resource);
        if (of) forest.replace(kind.group, kind.resource, lists[index].items.map((/** @type {any} */ item) => readMember(of, item)));
      });
      draw();
      return forest.members.size;
    },
  };
}

/** @param {Kind} kind @param {string} namespace @param {AbortSignal} signal @returns {Scene} */
export function tableScene(kind, namespace, signal) {
  const layout = new TableLayout(kind, kind.namespaced && !namespace);
  const head = h("div", { class: "head" });
  const list = new VirtualList({
    label: "Past", signal,
    identity: (/** @type {Row} */ row) => row.uid,
    make: () => h("div", {}),
    fill: (row, item) => fillRow(layout, row, item, () => element.style.setProperty("--columns", layout.template)),
    open: (row) => (location.hash = objectHref(kind, row.namespace, row.name, { tab: "history" })),
  });
  const element = h("div", { class: "table" }, head, list.element);
  return {
    kinds: [kind],
    element,
    show: async (revision, until) => {
      const table = await listAt(kind, namespace, revision, until, true);
      if (until.aborted) return 0;
      layout.define(table.columnDefinitions);
      element.style.setProperty("--columns", layout.template);
      replace(head, ...layout.columns.map(({ name }) => h("span", { class: "cell" }, name)));
      /** @type {Row[]} */
      const rows = table.rows.map(readRow);
      rows.sort((one, other) => compareCells(one.namespace, other.namespace) || compareCells(one.name, other.name));
      list.show(rows);
      return rows.length;
    },
  };
}
