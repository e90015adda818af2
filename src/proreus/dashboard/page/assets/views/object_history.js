// @ts-check
/** What an object was: every revision that the store still has, who wrote it, what it changed. */

import { messageOf, requestJson } from "../api/http.js";
import { h, replace } from "../dom/element.js";
import { settled } from "../dom/frames.js";
import { diffView } from "../object/diff_view.js";
import { yamlView } from "../object/yaml_editor.js";
import { ownerName, writersBetween } from "../text/field_owners.js";
import { age } from "../text/format.js";

/** @typedef {{revision: number, type: string, time: string | null, manager: string | null, object: import("../types.js").KubeObject | null}} Version */

/** @typedef {{revision: number, isWhole: boolean}} Choice What the user looks at; revision 0 is the newest, whichever that is. */

/** @param {HTMLElement} panel @param {import("../object/subject.js").Subject} subject @param {AbortSignal} signal */
export async function showHistory(panel, subject, signal) {
  const { kind, namespace, name } = subject;
  const { group, version, resource } = kind;
  /** @type {Choice} */
  const choice = { revision: 0, isWhole: false };
  let newest = -1;
  const read = async () => {
    try {
      const query = { group, version, resource, namespace, name };
      const { versions } = await requestJson("/debug/history/object", { query, signal });
      const last = versions.at(-1)?.revision ?? 0;
      if (signal.aborted || last === newest) return;
      newest = last;
      drawHistory(panel, versions, choice);
    } catch (error) {
      if (!signal.aborted) replace(panel, h("p", { class: "empty", role: "alert" }, messageOf(error)));
    }
  };
  await read();
  subject.onChange(signal, settled(300, () => void read()));
}

/** @param {HTMLElement} panel @param {Version[]} versions the oldest first @param {Choice} choice */
function drawHistory(panel, versions, choice) {
  if (!versions.length) {
    replace(panel, h("p", { class: "empty" }, "The store has no revision of it any more."));
    return;
  }
  const content = h("div", { class: "version" });
  const known = versions.findIndex(({ revision }) => revision === choice.revision);
  let chosen = known < 0 ? versions.length - 1 : known;
  const show = (/** @type {number} */ index) => {
    chosen = index;
    choice.revision = index === versions.length - 1 ? 0 : versions[index].revision;
    const { object } = versions[index];
    replace(content, choice.isWhole && object ? yamlView(object) : diffView(versions[index - 1]?.object ?? null, object));
    [...list.children].forEach((row, at) => row.setAttribute("aria-selected", String(at === versions.length - 1 - index)));
  };
  const whole = h("button", { class: "quiet", "aria-pressed": String(choice.isWhole), onclick: () => {
    choice.isWhole = !choice.isWhole;
    whole.setAttribute("aria-pressed", String(choice.isWhole));
    show(chosen);
  } }, "Whole object");
  const list = h("div", { class: "versions", role: "listbox", tabindex: 0, "aria-label": "Revisions" },
    ...versions.map((one, index) => versionRow(one, writerOf(one, versions[index - 1]), () => show(index))).reverse());
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: -1, ArrowUp: 1, j: -1, k: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.max(0, Math.min(versions.length - 1, chosen + step)));
  });
  replace(panel, h("div", { class: "tools" }, `${versions.length} revisions, the newest first`, h("span", { class: "grow" }), whole),
    h("div", { class: "split" }, list, content));
  show(chosen);
}

/**
 * By what differs between two versions: times of managed fields are in seconds, and cannot tell who
 * was last within one.
 * @param {Version} version @param {Version | undefined} before
 */
function writerOf({ object, manager }, before) {
  const writers = writersBetween(before?.object?.metadata.managedFields, object?.metadata.managedFields);
  return writers.length ? writers.map(ownerName).join(", ") : manager ?? "";
}

/** @param {Version} version @param {string} writer @param {() => void} open */
function versionRow({ revision, type, time }, writer, open) {
  return h("div", { class: "version-row", role: "option", onclick: open },
    h("span", { class: "mono" }, String(revision)),
    h("span", { class: "state", "data-tone": type === "DELETED" ? "bad" : type === "ADDED" ? "good" : "" }, type.toLowerCase()),
    h("span", { title: writer }, writer),
    h("span", { class: "faint", title: time ?? "" }, time ? age(time) : ""));
}
