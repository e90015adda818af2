// @ts-check
/** What differs between two objects, as people read it. */

import { h } from "../dom/element.js";
import { diffLines, withContext } from "../text/diff.js";
import { toYaml } from "../text/yaml.js";

/** @typedef {import("../types.js").KubeObject} KubeObject */

/** Without what every write changes anyway. @param {KubeObject | null} object @returns {any} */
export function essence(object) {
  if (!object) return null;
  const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** @param {KubeObject | null} object */
function linesOf(object) {
  return object ? toYaml(essence(object)).trimEnd().split("\n") : [];
}

/** @param {KubeObject | null} old @param {KubeObject | null} now @returns {HTMLElement} */
export function diffView(old, now) {
  const lines = diffLines(linesOf(old), linesOf(now));
  const changed = lines.some(({ sign }) => sign !== " ");
  if (!changed) return h("p", { class: "empty" }, "Nothing differs.");
  return h("pre", { class: "code diff" }, ...withContext(lines).map((line) => {
    if ("skipped" in line) return h("div", { class: "line gap" }, `⋯ ${line.skipped} lines`);
    const kind = { "+": "added", "-": "removed", " ": "" }[line.sign];
    return h("div", { class: `line ${kind}` }, h("span", { class: "sign" }, line.sign), line.text);
  }));
}
