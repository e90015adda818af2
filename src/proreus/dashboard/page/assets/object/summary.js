// @ts-check
/** What an object is and how it is doing, in short. */

import { kindOf, kindOfReference } from "../api/discovery.js";
import { objectHref } from "../api/paths.js";
import { h, replace } from "../dom/element.js";
import { perFrame } from "../dom/frames.js";
import { age, tone } from "../text/format.js";

/** @typedef {import("./subject.js").Subject} Subject */
/** @typedef {import("../dom/element.js").Child} Child */

/** @param {HTMLElement} panel @param {Subject} subject @param {AbortSignal} signal */
export function showSummary(panel, subject, signal) {
  const draw = perFrame(() => subject.object && drawSummary(panel, subject), signal);
  subject.onChange(signal, draw);
}

/** @param {HTMLElement} panel @param {Subject} subject */
function drawSummary(panel, { object, namespace }) {
  if (!object) return;
  const { metadata, spec, status } = object;
  replace(panel,
    section("Object", facts([
      ["Created", `${metadata.creationTimestamp} (${age(metadata.creationTimestamp)} ago)`],
      ["Resource version", metadata.resourceVersion],
      ["Generation", metadata.generation],
      ["UID", metadata.uid],
      ["Owned by", owners(metadata.ownerReferences ?? [], namespace)],
      ["Finalizers", chips(metadata.finalizers ?? [])],
      ["Labels", chips(pairs(metadata.labels))],
      ["Annotations", chips(pairs(metadata.annotations))],
    ])),
    conditions(status?.conditions),
    containers(spec, status),
    section("Status", facts(scalars(status))),
    section("Spec", facts([["Node", nodeLink(spec?.nodeName)], ...scalars(spec).filter(([name]) => name !== "nodeName")])));
}

/** @param {string} title @param {Node | null} content */
export function section(title, content) {
  return content && h("section", { class: "section" }, h("h2", {}, title), content);
}

/** @param {[string, Child][]} entries */
function facts(entries) {
  const known = entries.filter(([, value]) => value !== undefined && value !== "" && value !== null);
  return known.length ? h("dl", { class: "facts" }, ...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])) : null;
}

/** @param {Record<string, string> | undefined} map */
function pairs(map) {
  return Object.entries(map ?? {}).map(([key, value]) => `${key}=${value.length > 200 ? `${value.slice(0, 200)}…` : value}`);
}

/** @param {string[]} texts */
function chips(texts) {
  return texts.length ? h("div", { class: "chips" }, ...texts.map((text) => h("span", { class: "chip" }, text))) : null;
}

/** @param {import("../types.js").OwnerReference[]} references @param {string} namespace */
function owners(references, namespace) {
  if (!references.length) return null;
  return h("span", {}, ...references.map((reference) => {
    const kind = kindOfReference(reference);
    const label = `${reference.kind} ${reference.name} `;
    return kind ? h("a", { href: objectHref(kind, kind.namespaced ? namespace : "", reference.name) }, label) : label;
  }).map((child) => (typeof child === "string" ? document.createTextNode(child) : child)));
}

/** @param {string | undefined} name */
function nodeLink(name) {
  const kind = kindOf("", "nodes");
  return name && kind ? h("a", { href: objectHref(kind, "", name) }, name) : name;
}

/** Values that are one word; what is nested is in the YAML. @param {any} map @returns {[string, Child][]} */
function scalars(map) {
  return Object.entries(map ?? {})
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([name, value]) => [name, String(value)]);
}

/** @param {any[] | undefined} list */
function conditions(list) {
  if (!list?.length) return null;
  const rows = list.map((one) => {
    const isBadWord = /Pressure|Unavailable|Failed|Failure|Failing/.test(one.type);
    const isGood = isBadWord ? one.status === "False" : one.status === "True";
    return h("tr", {},
      h("td", {}, h("span", { class: "state", "data-tone": isGood ? "good" : one.status === "Unknown" ? "wait" : isBadWord ? "bad" : "wait" }, one.type)),
      h("td", {}, one.status), h("td", {}, one.reason ?? ""), h("td", {}, one.message ?? ""),
      h("td", {}, one.lastTransitionTime ? age(one.lastTransitionTime) : ""));
  });
  return section("Conditions", plainTable(["Type", "Status", "Reason", "Message", "For"], rows));
}

/** @param {string[]} names @param {HTMLElement[]} rows */
export function plainTable(names, rows) {
  return h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ...names.map((name) => h("th", {}, name)))), h("tbody", {}, ...rows));
}

/** @param {any} spec @param {any} status */
function containers(spec, status) {
  const pod = spec?.template?.spec ?? spec;
  if (!Array.isArray(pod?.containers)) return null;
  const states = new Map([...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((one) => [one.name, one]));
  const rows = [...(pod.initContainers ?? []), ...pod.containers].map((one) => {
    const known = states.get(one.name);
    const state = stateText(known?.state);
    return h("tr", {}, h("td", {}, one.name), h("td", { class: "mono" }, one.image ?? ""),
      h("td", {}, h("span", { class: "state", "data-tone": tone(state.split(" ", 1)[0]) }, state || "–")),
      h("td", {}, String(known?.restartCount ?? "")),
      h("td", { class: "mono" }, [...(one.command ?? []), ...(one.args ?? [])].join(" ")));
  });
  return section("Containers", plainTable(["Name", "Image", "State", "Restarts", "Command"], rows));
}

/** @param {any} state */
function stateText(state) {
  if (state?.running) return "Running";
  if (state?.waiting) return `${state.waiting.reason ?? "Waiting"} ${state.waiting.message ?? ""}`.trim();
  if (state?.terminated) return `${state.terminated.reason ?? "Terminated"} (exit ${state.terminated.exitCode})`;
  return "";
}
