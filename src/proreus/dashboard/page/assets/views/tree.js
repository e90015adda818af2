// @ts-check
/** A forest of owners as a list of rows; live or as it was. */

import { objectHref } from "../api/paths.js";
import { kindOf } from "../api/discovery.js";
import { h, setText } from "../dom/element.js";
import { VirtualList } from "../dom/virtual_list.js";
import { age, tone } from "../text/format.js";

/** @typedef {import("./ownership.js").TreeRow} TreeRow */
/** @typedef {import("./ownership.js").Member} Member */

const INDENT_PX = 18;

/**
 * @param {{signal: AbortSignal, toggled: (member: Member) => void, hrefOf?: (member: Member) => string, now?: () => number}} options
 */
export function treeList({ signal, toggled, hrefOf = hrefOfMember, now = Date.now }) {
  return new VirtualList({
    label: "Workloads",
    signal,
    identity: (/** @type {TreeRow} */ row) => row.member.uid,
    make: makeRow,
    fill: (row, item) => fill(row, item, now()),
    open: ({ member }, event) => {
      const isArrow = event.target instanceof Element && event.target.closest(".fold");
      if (isArrow) toggled(member);
      else location.hash = hrefOf(member);
    },
    key: ({ member, children, isOpen }, key) => {
      const folds = children > 0 && ((key === "ArrowLeft" && isOpen) || (key === "ArrowRight" && !isOpen));
      if (folds) toggled(member);
      return key === "ArrowLeft" || key === "ArrowRight";
    },
  });
}

function makeRow() {
  return h("div", {},
    h("span", { class: "cell tree" }, h("span", { class: "fold" }), h("span", { class: "badge" }), h("span", { class: "name" }), h("span", { class: "faint owned" })),
    h("span", { class: "cell" }), h("span", { class: "cell" }), h("span", { class: "cell" }), h("span", { class: "cell" }), h("span", { class: "cell" }));
}

/** @param {HTMLElement} row @param {TreeRow} item @param {number} now */
function fill(row, { member, depth, children, isOpen }, now) {
  const [tree, namespace, ready, status, info, created] = /** @type {HTMLElement[]} */ ([...row.children]);
  const [fold, badge, name, owned] = /** @type {HTMLElement[]} */ ([...tree.children]);
  tree.style.paddingLeft = `${8 + depth * INDENT_PX}px`;
  setText(fold, children ? (isOpen ? "▾" : "▸") : "");
  setText(badge, member.kind);
  badge.dataset.kind = member.kind;
  setText(name, member.name);
  setText(owned, depth === 0 && member.ownedBy ? `of ${member.ownedBy}` : children && !isOpen ? `${children}` : "");
  setText(namespace, member.namespace);
  setText(ready, member.ready);
  setText(status, member.status);
  status.dataset.tone = tone(member.status);
  setText(info, member.info);
  setText(created, age(member.created, now));
}

/** @param {Member} member */
function hrefOfMember(member) {
  const kind = kindOf(member.group, member.resource);
  return kind ? objectHref(kind, member.namespace, member.name) : location.hash;
}

export function treeHead() {
  const names = ["Name", "Namespace", "Ready", "Status", "Node / info", "Age"];
  return h("div", { class: "head" }, ...names.map((name) => h("span", { class: "cell" }, name)));
}
