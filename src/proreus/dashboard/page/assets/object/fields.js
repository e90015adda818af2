// @ts-check
/** Which field belongs to whom. */

import { h, replace } from "../dom/element.js";
import { perFrame } from "../dom/frames.js";
import { ownerName, ownersOf } from "../text/field_owners.js";
import { age } from "../text/format.js";
import { yamlLines } from "../text/yaml.js";

/** @param {HTMLElement} panel @param {import("./subject.js").Subject} subject @param {AbortSignal} signal */
export function showFields(panel, subject, signal) {
  let chosen = "";
  const draw = perFrame(() => {
    const { object } = subject;
    if (!object) return;
    const managed = object.metadata.managedFields ?? [];
    const { managedFields: _, ...metadata } = object.metadata;
    const shown = { ...object, metadata };
    const buttons = managed.map((entry) => {
      const name = ownerName(entry);
      const toggle = () => ((chosen = chosen === name ? "" : name), draw());
      return h("button", { class: "quiet", "aria-pressed": String(chosen === name), onclick: toggle },
        name, h("span", { class: "faint" }, ` ${entry.operation}${entry.time ? `, ${age(entry.time)} ago` : ""}`));
    });
    const lines = yamlLines(shown).map(({ text, path }) => {
      const names = ownersOf(managed, shown, path).map(ownerName).join(", ");
      const isLit = chosen !== "" && names.split(", ").includes(chosen);
      return h("div", { class: isLit ? "line lit" : "line", title: names }, h("span", { class: "owner" }, names), text);
    });
    replace(panel, h("div", { class: "tools" }, ...(buttons.length ? buttons : ["No manager is recorded."])), h("pre", { class: "code", tabindex: 0 }, ...lines));
  }, signal);
  subject.onChange(signal, draw);
}
