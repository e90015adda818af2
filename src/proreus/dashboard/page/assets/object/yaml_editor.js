// @ts-check
/**
 * An object as YAML, and its editing: the text goes to the server as it is, first as a dry run; what
 * that would change is shown; only then it is applied. If somebody wrote meanwhile, both changes are
 * put together.
 */

import { may } from "../api/access.js";
import { ApiError, messageOf, requestJson } from "../api/http.js";
import { notify } from "../dom/dialog.js";
import { h, replace } from "../dom/element.js";
import { ownerName, writersBetween } from "../text/field_owners.js";
import { merge } from "../text/merge.js";
import { toYaml, yamlLines } from "../text/yaml.js";
import { diffView } from "./diff_view.js";

/** @typedef {import("../types.js").KubeObject} KubeObject */
/** @typedef {import("./subject.js").Subject} Subject */
/** @typedef {{base: KubeObject, text: string}} Draft The edited text, and the object it began with. */

/** @param {HTMLElement} panel @param {Subject} subject @param {AbortSignal} signal */
export async function showYaml(panel, subject, signal) {
  const { kind, namespace, name } = subject;
  const mayEdit = await may({ verb: "update", kind, namespace, name });
  if (signal.aborted) return;
  new YamlPanel(panel, subject, signal, mayEdit).view();
}

class YamlPanel {
  /** @param {HTMLElement} panel @param {Subject} subject @param {AbortSignal} signal @param {boolean} mayEdit */
  constructor(panel, subject, signal, mayEdit) {
    this.panel = panel;
    this.subject = subject;
    this.mayEdit = mayEdit;
    this.hasManaged = false;
    this.isViewing = true;
    subject.onChange(signal, () => this.isViewing && this.view());
  }

  view() {
    const { object } = this.subject;
    this.isViewing = true;
    if (!object) return;
    const shown = this.hasManaged ? object : withoutManaged(object);
    const managed = h("input", { type: "checkbox", onchange: () => ((this.hasManaged = managed.checked), this.view()) });
    managed.checked = this.hasManaged;
    const copy = () => void navigator.clipboard.writeText(toYaml(shown)).then(() => notify("Copied."));
    replace(this.panel,
      h("div", { class: "tools" },
        this.mayEdit && h("button", { onclick: () => this.edit(draftOf(object)) }, "Edit"),
        h("button", { class: "quiet", onclick: copy }, "Copy"),
        h("label", {}, managed, "Managed fields")),
      yamlView(shown));
  }

  /** @param {Draft} draft @param {Node | null} [note] */
  edit(draft, note = null) {
    this.isViewing = false;
    const field = h("textarea", { class: "editor", spellcheck: "false", "aria-label": "YAML", autocomplete: "off" });
    field.value = draft.text;
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void check();
      else if (event.key === "Tab" && !event.shiftKey) {
        event.preventDefault();
        field.setRangeText("  ", field.selectionStart, field.selectionEnd, "end");
      }
    });
    const failure = h("p", { class: "failure message", role: "alert", hidden: true });
    const check = async () => {
      const edited = { base: draft.base, text: field.value };
      try {
        this.review(edited, await this.#put(edited.text, true));
      } catch (error) {
        if (isConflict(error)) await this.resolve(edited);
        else {
          failure.hidden = false;
          failure.textContent = messageOf(error);
        }
      }
    };
    replace(this.panel,
      h("div", { class: "tools" },
        h("button", { class: "primary", onclick: () => void check() }, "Check"),
        h("button", { onclick: () => this.view() }, "Cancel"),
        h("span", { class: "faint" }, "The server is asked what would change; nothing is written yet. ", h("kbd", {}, "Ctrl Enter"))),
      failure, note, field);
    field.focus();
  }

  /** @param {Draft} draft @param {KubeObject} result */
  review(draft, result) {
    const failure = h("p", { class: "failure message", role: "alert", hidden: true });
    const apply = async () => {
      try {
        const written = await this.#put(draft.text, false);
        notify(`Applied: resource version ${written.metadata.resourceVersion}.`);
        this.subject.object = written;
        this.view();
      } catch (error) {
        if (isConflict(error)) await this.resolve(draft);
        else {
          failure.hidden = false;
          failure.textContent = messageOf(error);
        }
      }
    };
    const button = h("button", { class: "primary", onclick: () => void apply() }, "Apply");
    replace(this.panel,
      h("div", { class: "tools" }, button, h("button", { onclick: () => this.edit(draft) }, "Back to the text"),
        h("button", { onclick: () => this.view() }, "Cancel"),
        h("span", { class: "faint" }, "What the server would write (dry run)")),
      failure, diffView(draft.base, result));
    button.focus();
  }

  /** Somebody wrote since the draft began. @param {Draft} draft */
  async resolve(draft) {
    const theirs = await this.subject.read();
    const writers = writersBetween(draft.base.metadata.managedFields, theirs.metadata.managedFields);
    const by = writers.length ? ` by ${writers.map(ownerName).join(" and ")}` : "";
    const together = async () => {
      try {
        // Mine as an object: what the server makes of the text, had it begun with the newest one.
        const mine = await this.#put(rebased(draft.text, theirs), true);
        const { value, conflicts } = merge(withoutManaged(draft.base), settled(mine, draft.base), withoutManaged(theirs));
        value.metadata.resourceVersion = theirs.metadata.resourceVersion;
        const note = conflicts.length ? h("div", { class: "conflict" }, `Both changed ${conflicts.join(", ")}; yours is kept there.`) : null;
        this.edit({ base: theirs, text: toYaml(value) }, note);
      } catch (error) {
        this.edit(draft, h("p", { class: "failure message", role: "alert" }, messageOf(error)));
      }
    };
    replace(this.panel,
      h("div", { class: "conflict", role: "alert" },
        h("span", { class: "grow" }, `${this.subject.name} was changed${by} while you edited it. This is what they changed:`),
        h("button", { class: "primary", onclick: () => void together() }, "Put my changes on top"),
        h("button", { onclick: () => this.view() }, "Drop my changes")),
      diffView(draft.base, theirs));
  }

  /** @param {string} text @param {boolean} isDry @returns {Promise<KubeObject>} */
  #put(text, isDry) {
    /** @type {Record<string, string>} */
    const query = { fieldManager: "proreus-dashboard", fieldValidation: "Strict" };
    if (isDry) query.dryRun = "All";
    return requestJson(this.subject.path(), { method: "PUT", query, body: text, contentType: "application/yaml" });
  }
}

/** @param {unknown} error */
function isConflict(error) {
  return error instanceof ApiError && error.code === 409;
}

/** @param {KubeObject} object @returns {Draft} */
function draftOf(object) {
  return { base: object, text: toYaml(withoutManaged(object)) };
}

/** @param {KubeObject} object @returns {KubeObject} */
function withoutManaged(object) {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The text with another resource version. @param {string} text @param {KubeObject} onto */
function rebased(text, onto) {
  return text.replace(/^(\s+resourceVersion:).*$/m, `$1 ${JSON.stringify(onto.metadata.resourceVersion)}`);
}

/**
 * What the user wrote, without what the server keeps: its status and generation would look as if
 * the user had changed them too.
 * @param {KubeObject} mine @param {KubeObject} base
 */
function settled(mine, base) {
  const { generation, resourceVersion } = base.metadata;
  const clean = withoutManaged(mine);
  /** @type {KubeObject} */
  const kept = { ...clean, metadata: { ...clean.metadata, resourceVersion } };
  if (generation === undefined) delete kept.metadata.generation;
  else kept.metadata.generation = generation;
  if (base.status === undefined) delete kept.status;
  else kept.status = base.status;
  return kept;
}

/** @param {KubeObject} object */
export function yamlView(object) {
  return h("pre", { class: "code", tabindex: 0 }, ...yamlLines(object).map(({ text }) => {
    const [, before = "", key = "", rest = text] = /^(\s*(?:- )*)([^\s:"]+:)(.*)$/.exec(text) ?? [];
    return h("div", { class: "line" }, before, key && h("span", { class: "key" }, key), rest);
  }));
}
