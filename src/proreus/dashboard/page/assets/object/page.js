// @ts-check
/** The page of one object: its tabs, and what may be done with it. */

import { may } from "../api/access.js";
import { findKind } from "../api/discovery.js";
import { href, kindHref, objectHref } from "../api/paths.js";
import { h, replace, setText } from "../dom/element.js";
import { eventList } from "../views/events.js";
import { showHistory } from "../views/object_history.js";
import { actionButtons } from "./actions.js";
import { showFields } from "./fields.js";
import { showLogs } from "./logs.js";
import { showRelations } from "./relations.js";
import { Subject } from "./subject.js";
import { showSummary } from "./summary.js";
import { showTerminal } from "./terminal.js";
import { showYaml } from "./yaml_editor.js";

/** @typedef {(panel: HTMLElement, subject: Subject, signal: AbortSignal) => void | Promise<void>} Tab */
/** @typedef {{id: string, label: string, show: Tab, isFull?: boolean, isOffered?: (subject: Subject) => Promise<boolean>}} TabEntry */

/** @type {TabEntry[]} */
const TABS = [
  { id: "summary", label: "Summary", show: showSummary },
  { id: "yaml", label: "YAML", show: showYaml, isFull: true },
  { id: "fields", label: "Field owners", show: showFields, isFull: true },
  { id: "relations", label: "Owners and dependents", show: showRelations },
  { id: "events", label: "Events", show: showObjectEvents, isFull: true },
  { id: "logs", label: "Logs", show: showLogs, isFull: true, isOffered: (subject) => mayOnPod(subject, "get", "log") },
  { id: "terminal", label: "Terminal", show: showTerminal, isFull: true, isOffered: (subject) => mayOnPod(subject, "create", "exec") },
  { id: "history", label: "History", show: showHistory, isFull: true, isOffered: () => may({ verb: "get", path: "/debug/history" }) },
];

/** @param {Subject} subject @param {string} verb @param {string} subresource */
async function mayOnPod({ kind, namespace, name }, verb, subresource) {
  const isPod = kind.group === "" && kind.resource === "pods";
  return isPod && may({ verb, kind, subresource, namespace, name });
}

/** @param {HTMLElement} panel @param {Subject} subject @param {AbortSignal} signal */
function showObjectEvents(panel, { namespace, name, kind }, signal) {
  const path = namespace ? `/api/v1/namespaces/${encodeURIComponent(namespace)}/events` : "/api/v1/events";
  eventList(panel, signal, { path, query: { fieldSelector: `involvedObject.name=${name},involvedObject.kind=${kind.kind}` } });
}

/** @param {import("../types.js").Visit} visit */
export async function showObject({ root, place, signal }) {
  const [, group, version, resource, namespacePart, name] = place.path;
  const kind = await findKind(group === "core" ? "" : group, resource, version);
  if (!kind) {
    replace(root, h("p", { class: "empty" }, `The server does not serve ${resource}.`));
    return;
  }
  const namespace = namespacePart === "-" ? "" : namespacePart;
  const subject = new Subject(kind, namespace, name, signal);
  const offered = await Promise.all(TABS.map(async (tab) => (!tab.isOffered || (await tab.isOffered(subject)) ? [tab] : [])));
  const entries = offered.flat();

  const of = { group: kind.group, resource: kind.resource, namespace, name };
  const route = (await may({ verb: "get", path: "/debug/listwatch/route" })) && h("a", { class: "quiet-link", href: href(["route"], of) }, "Its route");
  const gone = h("span", { class: "state", hidden: true });
  const problem = h("p", { class: "empty", role: "alert", hidden: true });
  const tabs = h("div", { class: "tabs", role: "tablist" });
  const body = h("div", { class: "view" });
  replace(root,
    h("header", { class: "bar" },
      h("div", {},
        h("div", { class: "crumb" }, h("a", { href: kindHref(kind) }, kind.kind), namespace && ` in ${namespace}`),
        h("h1", {}, name, gone)),
      h("span", { class: "grow" }),
      route,
      actionButtons(subject)),
    tabs, problem, body);

  subject.onChange(signal, () => {
    setText(problem, subject.problem);
    problem.hidden = !subject.problem;
    const leaving = subject.object?.metadata.deletionTimestamp !== undefined;
    gone.hidden = !subject.isDeleted && !leaving;
    gone.dataset.tone = subject.isDeleted ? "bad" : "wait";
    setText(gone, subject.isDeleted ? "deleted" : "being deleted");
  });
  subject.follow();

  let current = new AbortController();
  const open = (/** @type {TabEntry} */ tab) => {
    current.abort();
    current = new AbortController();
    const panel = h("div", { class: `panel ${tab.isFull ? "full" : ""}`, role: "tabpanel", "aria-label": tab.label });
    replace(body, panel);
    for (const button of tabs.children) button.setAttribute("aria-selected", String(button.id === `tab-${tab.id}`));
    history.replaceState(null, "", objectHref(kind, namespace, name, { tab: tab.id === "summary" ? "" : tab.id }));
    void tab.show(panel, subject, AbortSignal.any([signal, current.signal]));
  };
  replace(tabs, ...entries.map((tab, index) =>
    h("button", { id: `tab-${tab.id}`, role: "tab", onclick: () => open(tab), onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = step && tabs.children[(index + step + entries.length) % entries.length];
      if (next instanceof HTMLElement) next.focus();
    } }, tab.label)));
  open(entries.find((tab) => tab.id === place.query.get("tab")) ?? entries[0]);
}
