// @ts-check
/** Events as they come, of the cluster or of one object; the newest first. */

import { followLive } from "../api/connection.js";
import { kindOfReference } from "../api/discovery.js";
import { objectHref } from "../api/paths.js";
import { h, replace, setText } from "../dom/element.js";
import { every, perFrame } from "../dom/frames.js";
import { VirtualList } from "../dom/virtual_list.js";
import { age, counted, tone } from "../text/format.js";
import { OrderedRows, matcher } from "../text/ordered_rows.js";
import { currentNamespace } from "./scope.js";

/** @typedef {{uid: string, seen: number, type: string, reason: string, object: string, href: string, message: string, times: number, by: string, namespace: string}} EventFacts */

/** @param {any} event @returns {EventFacts} */
function readEvent(event) {
  const { metadata, involvedObject = {}, series } = event;
  const seen = series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? metadata.creationTimestamp;
  const kind = kindOfReference({ apiVersion: involvedObject.apiVersion ?? "", kind: involvedObject.kind ?? "" });
  return {
    uid: metadata.uid,
    seen: Date.parse(seen),
    type: event.type ?? "",
    reason: event.reason ?? "",
    object: `${involvedObject.kind ?? ""} ${involvedObject.name ?? ""}`,
    href: kind ? objectHref(kind, involvedObject.namespace ?? "", involvedObject.name ?? "") : "",
    message: event.message ?? "",
    times: series?.count ?? event.count ?? 1,
    by: event.reportingComponent || event.source?.component || "",
    namespace: metadata.namespace ?? "",
  };
}

/**
 * @param {HTMLElement} root @param {AbortSignal} signal
 * @param {{path: string, query?: Record<string, string>, filter?: () => string, counted?: (text: string) => void}} what
 * @returns {() => void} filters again
 */
export function eventList(root, signal, what) {
  /** @type {OrderedRows<EventFacts>} */
  const events = new OrderedRows((one, other) => other.seen - one.seen || (one.uid < other.uid ? -1 : 1));
  const list = new VirtualList({
    label: "Events",
    signal,
    identity: (/** @type {EventFacts} */ event) => event.uid,
    make: () => h("div", {}, ...Array.from({ length: 6 }, () => h("span", { class: "cell" }))),
    fill: (row, event) => {
      const texts = [age(event.seen), event.type, event.reason, event.object, event.times > 1 ? `× ${event.times}` : "", event.message];
      texts.forEach((text, index) => setText(row.children[index], text));
      const type = /** @type {HTMLElement} */ (row.children[1]);
      type.dataset.tone = tone(event.type);
      row.title = `${event.message}\n${event.by}`;
    },
    open: (event) => event.href && (location.hash = event.href),
  });
  const empty = h("div", { class: "empty", hidden: true });
  const draw = perFrame(() => {
    const shown = events.flush();
    list.show(shown);
    empty.hidden = shown.length > 0;
    what.counted?.(counted(shown.length, "event"));
  }, signal);
  const refilter = () => {
    const matches = matcher(what.filter?.() ?? "");
    events.filterBy((event) => matches(`${event.namespace} ${event.type} ${event.reason} ${event.object} ${event.message}`));
    draw();
  };
  void followLive({
    path: what.path, query: what.query, signal, read: readEvent,
    replace: (items) => {
      events.replace(items);
      setText(empty, "No events; they are kept for an hour.");
      refilter();
    },
    change: (type, event) => {
      if (type === "DELETED") events.remove(event.uid);
      else events.set(event);
      draw();
    },
    state: (state) => {
      if (state.phase !== "refused") return;
      empty.hidden = false;
      setText(empty, state.why);
    },
  });
  every(1_000, signal, () => list.draw());
  const names = ["Seen", "Type", "Reason", "Object", "", "Message"];
  root.append(h("div", { class: "table event" }, h("div", { class: "head" }, ...names.map((name) => h("span", { class: "cell" }, name))), list.element), empty);
  return refilter;
}

/** @param {import("../types.js").Visit} visit */
export function showEvents({ root, signal }) {
  const namespace = currentNamespace();
  const count = h("span", { class: "faint" });
  const filter = h("input", { type: "search", placeholder: "Filter  /", "aria-label": "Filter", "data-filter": true, oninput: () => refilter() });
  replace(root, h("header", { class: "bar" }, h("h1", {}, "Events"), count, h("span", { class: "grow" }), filter));
  const path = namespace ? `/api/v1/namespaces/${encodeURIComponent(namespace)}/events` : "/api/v1/events";
  const refilter = eventList(root, signal, { path, filter: () => filter.value, counted: (text) => setText(count, text) });
}
