// @ts-check
/** Time travel: the cluster as it was at any revision that the store still has. */

import { listable, may } from "../api/access.js";
import { findKind, isListed, knownKinds } from "../api/discovery.js";
import { ApiError, messageOf } from "../api/http.js";
import { href } from "../api/paths.js";
import { notify } from "../dom/dialog.js";
import { h, replace, setText } from "../dom/element.js";
import { every, settled } from "../dom/frames.js";
import { age, counted } from "../text/format.js";
import { exportAt, readMarks, readSpan } from "../travel/past.js";
import { tableScene, workloadScene } from "../travel/scene.js";
import { WORKLOADS } from "./ownership.js";
import { currentNamespace } from "./scope.js";

const STEP_MS = 700;
const LOOK_MS = 3_000;

/** @param {import("../types.js").Visit} visit */
export async function showTimeTravel({ root, place, signal }) {
  if (!(await may({ verb: "get", path: "/debug/history" }))) {
    replace(root, h("p", { class: "empty" }, "Time travel is for those who may get /debug/history (docs/debug.md)."));
    return;
  }
  const namespace = currentNamespace();
  const kinds = await listable(knownKinds().filter(isListed), namespace);
  const traveller = new Traveller(place.query, namespace, signal, kinds);
  await traveller.start(root);
}

class Traveller {
  /** @param {URLSearchParams} query @param {string} namespace @param {AbortSignal} signal @param {import("../types.js").Kind[]} kinds */
  constructor(query, namespace, signal, kinds) {
    this.namespace = namespace;
    this.signal = signal;
    this.kinds = kinds;
    this.revision = Number(query.get("at")) || 0;
    this.isNow = this.revision === 0;
    /** @type {import("../travel/past.js").Mark[]} */
    this.marks = [];
    /** @type {import("../travel/scene.js").Scene | null} */
    this.scene = null;
    this.showing = new AbortController();
    this.playing = 0;
    const chosen = query.get("kind") ?? "";
    this.kind = h("select", { "aria-label": "What", onchange: () => void this.changeScene() },
      h("option", { value: "" }, "Workloads"),
      ...kinds.map(({ group, resource }) => {
        const value = `${group}/${resource}`;
        return h("option", { value, selected: value === chosen }, group ? `${resource}.${group}` : resource);
      }));
    this.slider = h("input", { type: "range", "aria-label": "Revision", oninput: () => this.go(Number(this.slider.value)) });
    this.number = h("input", { type: "number", class: "mono", "aria-label": "Revision number", onchange: () => this.go(Number(this.number.value)) });
    this.play = h("button", { class: "primary", onclick: () => this.toggle() }, "Play");
    this.what = h("span", { class: "faint grow" });
    this.count = h("span", { class: "faint" });
    this.body = h("div", { class: "view" });
  }

  /** @param {HTMLElement} root */
  async start(root) {
    const step = (/** @type {number} */ by) => () => this.step(by);
    replace(root,
      h("header", { class: "bar" }, h("h1", {}, "Time travel"), this.kind, this.count, h("span", { class: "grow" }),
        h("button", { onclick: () => void this.export() }, "Export as YAML")),
      h("div", { class: "travel" },
        h("button", { "aria-label": "One change back", onclick: step(-1) }, "◂"), this.play, h("button", { "aria-label": "One change on", onclick: step(1) }, "▸"),
        this.slider, this.number, h("button", { onclick: () => void this.goNow() }, "Now")),
      h("div", { class: "travel" }, this.what),
      this.body);
    await this.look();
    await this.changeScene();
    every(LOOK_MS, this.signal, () => void this.look());
    this.signal.addEventListener("abort", () => clearInterval(this.playing));
  }

  /** What the store has changes by itself: it grows, and is compacted. */
  async look() {
    try {
      const { oldestRevision, revision } = await readSpan(this.signal);
      const isNews = this.slider.max !== String(revision);
      if (this.isNow) this.revision = revision;
      this.slider.min = this.number.min = String(oldestRevision);
      this.slider.max = this.number.max = String(revision);
      if (this.scene && isNews) this.marks = await readMarks(this.scene.kinds, this.namespace, this.signal);
      this.#say();
    } catch (error) {
      if (!this.signal.aborted) setText(this.what, messageOf(error));
    }
  }

  async changeScene() {
    const [group, resource] = this.kind.value.split("/");
    const kind = resource && (await findKind(group, resource));
    if (kind) this.scene = tableScene(kind, this.namespace, this.signal);
    else {
      const found = this.kinds.filter((one) => WORKLOADS.some((of) => of.group === one.group && of.resource === one.resource));
      this.scene = workloadScene(found, this.namespace, this.signal, () => this.#time() ?? Date.now());
    }
    replace(this.body, this.scene.element);
    this.marks = await readMarks(this.scene.kinds, this.namespace, this.signal);
    this.go(this.revision, this.isNow);
  }

  /** @param {number} revision @param {boolean} [isNow] */
  go(revision, isNow = false) {
    this.isNow = isNow;
    this.revision = Math.max(Number(this.slider.min), Math.min(Number(this.slider.max), revision));
    this.#say();
    this.#show();
  }

  async goNow() {
    this.isNow = true;
    await this.look();
    this.go(this.revision, true);
  }

  #show = settled(60, () => void this.#read());

  async #read() {
    this.showing.abort();
    this.showing = new AbortController();
    const until = AbortSignal.any([this.signal, this.showing.signal]);
    history.replaceState(null, "", href(["time"], { at: this.isNow ? "" : String(this.revision), kind: this.kind.value }));
    try {
      const count = await this.scene?.show(this.revision, until);
      if (until.aborted) return;
      setText(this.count, `${counted(count ?? 0, "object")} at revision ${this.revision}`);
      this.count.dataset.revision = String(this.revision);
    } catch (error) {
      if (until.aborted) return;
      const isCompacted = error instanceof ApiError && error.code === 410;
      setText(this.count, isCompacted ? "The store no longer has this revision." : messageOf(error));
    }
  }

  #mark() {
    return this.marks.findLast((one) => one.revision <= this.revision);
  }

  #time() {
    const time = this.#mark()?.time;
    return time ? Date.parse(time) : null;
  }

  #say() {
    this.slider.value = String(this.revision);
    if (document.activeElement !== this.number) this.number.value = String(this.revision);
    const mark = this.#mark();
    const what = mark ? `${mark.revision}: ${mark.text}, ${age(mark.time)} ago` : "No change of these is remembered before this revision.";
    setText(this.what, this.isNow ? `Now. Last change: ${what}` : what);
    this.what.classList.toggle("past", !this.isNow);
  }

  /** To the next revision at which something changed. @param {number} by */
  step(by) {
    const next = by > 0
      ? this.marks.find((one) => one.revision > this.revision)
      : this.marks.findLast((one) => one.revision < this.revision);
    this.go(next?.revision ?? this.revision + by);
    return next !== undefined;
  }

  toggle() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
    } else {
      this.playing = window.setInterval(() => !this.step(1) && this.toggle(), STEP_MS);
    }
    setText(this.play, this.playing ? "Pause" : "Play");
  }

  async export() {
    if (!this.scene) return;
    try {
      const text = await exportAt(this.scene.kinds, this.namespace, this.revision, this.signal);
      const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = `revision-${this.revision}.yaml`;
      link.click();
      URL.revokeObjectURL(url);
      notify(`Exported revision ${this.revision}.`);
    } catch (error) {
      notify(messageOf(error), "bad");
    }
  }
}
