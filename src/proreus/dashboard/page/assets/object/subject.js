// @ts-check
/** The object of a page: what it is, what is known of it now, and who wants to know of changes. */

import { followLive } from "../api/connection.js";
import { requestJson } from "../api/http.js";
import { collectionPath, objectPath } from "../api/paths.js";

/** @typedef {import("../types.js").KubeObject} KubeObject */
/** @typedef {import("../types.js").Kind} Kind */

export class Subject {
  /** @param {Kind} kind @param {string} namespace @param {string} name @param {AbortSignal} signal */
  constructor(kind, namespace, name, signal) {
    this.kind = kind;
    this.namespace = namespace;
    this.name = name;
    this.signal = signal;
    /** @type {KubeObject | null} */
    this.object = null;
    this.isDeleted = false;
    this.problem = "";
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** @param {string} [subresource] */
  path(subresource = "") {
    return objectPath(this.kind, this.namespace, this.name, subresource);
  }

  /** @param {AbortSignal} signal @param {() => void} listener Called now too, if the object is there. */
  onChange(signal, listener) {
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener));
    if (this.object) listener();
  }

  follow() {
    void followLive({
      path: collectionPath(this.kind, this.namespace),
      query: { fieldSelector: `metadata.name=${this.name}` },
      read: (object) => /** @type {KubeObject} */ (object),
      replace: (items) => (items[0] ? this.#take(items[0], false) : this.#isGone()),
      change: (type, object) => this.#take(object, type === "DELETED"),
      state: (state) => state.phase === "refused" && void this.#readOnce(),
      signal: this.signal,
    });
  }

  /** Who may read but not watch sees the object as it is now. */
  async #readOnce() {
    try {
      this.#take(await this.read(), false);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.#report();
    }
  }

  /** @returns {Promise<KubeObject>} */
  read() {
    return requestJson(this.path(), { signal: this.signal });
  }

  /** @param {KubeObject} object @param {boolean} isDeleted */
  #take(object, isDeleted) {
    const { group, version, kind } = this.kind;
    this.object = { ...object, apiVersion: group ? `${group}/${version}` : version, kind };
    this.isDeleted = isDeleted;
    this.problem = "";
    this.#report();
  }

  #isGone() {
    this.isDeleted = true;
    this.problem = this.object ? "" : `There is no ${this.kind.kind} ${this.name}${this.namespace ? ` in ${this.namespace}` : ""}.`;
    this.#report();
  }

  #report() {
    for (const listener of [...this.listeners]) listener();
  }
}
