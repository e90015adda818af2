// @ts-check
/** Workloads as they own each other, live. */

import { may } from "../api/access.js";
import { followLive } from "../api/connection.js";
import { findKind } from "../api/discovery.js";
import { collectionPath } from "../api/paths.js";
import { h, replace, setText } from "../dom/element.js";
import { every, perFrame } from "../dom/frames.js";
import { counted } from "../text/format.js";
import { Forest, WORKLOADS, readMember } from "./ownership.js";
import { currentNamespace } from "./scope.js";
import { treeHead, treeList } from "./tree.js";

/** @param {import("../types.js").Visit} visit */
export async function showWorkloads({ root, signal }) {
  const forest = new Forest();
  const namespace = currentNamespace();
  let hasOld = false;
  const numbers = h("span", { class: "numbers" });
  const empty = h("div", { class: "empty", hidden: true });
  const filter = h("input", { type: "search", placeholder: "Filter  /", "aria-label": "Filter", "data-filter": true, oninput: () => draw() });
  const old = h("button", { class: "quiet", "aria-pressed": "false", title: "Replica sets without replicas", onclick: () => {
    hasOld = !hasOld;
    old.setAttribute("aria-pressed", String(hasOld));
    draw();
  } }, "Old revisions");
  const list = treeList({ signal, toggled: (member) => (forest.toggle(member), draw()) });
  const draw = perFrame(() => {
    const rows = forest.rows({ namespace, filter: filter.value, hasOld });
    list.show(rows);
    drawNumbers(numbers, forest);
    empty.hidden = forest.members.size > 0 || !isListed;
    setText(empty, followed ? "Nothing runs here yet. Try: kubectl create deployment web --image=any --replicas=3"
      : "You may not list workloads in all namespaces: choose one at the top.");
  }, signal);
  replace(root,
    h("header", { class: "bar" }, h("h1", {}, "Workloads"), numbers, h("span", { class: "grow" }), filter, old),
    h("div", { class: "table workload" }, treeHead(), list.element), empty);

  let left = WORKLOADS.length;
  let isListed = false;
  let followed = 0;
  for (const one of WORKLOADS) {
    const kind = await findKind(one.group, one.resource);
    const isAllowed = kind && (await may({ verb: "list", kind, namespace }));
    if (!isAllowed) {
      isListed = --left === 0 || isListed;
      draw();
      continue;
    }
    followed++;
    void followLive({
      path: collectionPath(kind, namespace),
      read: (object) => readMember(one, object),
      replace: (members) => {
        forest.replace(one.group, one.resource, members);
        isListed = --left <= 0 || isListed;
        draw();
      },
      change: (type, member) => {
        if (type === "DELETED") forest.remove(member.uid);
        else forest.set(member);
        draw();
      },
      state: () => undefined,
      signal,
    });
  }
  every(1_000, signal, () => list.draw());
  list.element.focus();
}

/** @param {HTMLElement} place @param {Forest} forest */
export function drawNumbers(place, forest) {
  const counts = { good: 0, wait: 0, bad: 0 };
  let pods = 0;
  for (const { kind, status } of forest.members.values()) {
    if (kind !== "Pod") continue;
    pods++;
    if (status === "Running" || status === "Completed") counts.good++;
    else if (status === "Pending" || status === "ContainerCreating" || status === "Terminating") counts.wait++;
    else counts.bad++;
  }
  const text = [counted(pods, "pod"), `${counts.good} well`, counts.wait ? `${counts.wait} on their way` : "", counts.bad ? `${counts.bad} failing` : ""];
  setText(place, text.filter(Boolean).join(" · "));
  place.dataset.tone = counts.bad ? "bad" : "";
}
