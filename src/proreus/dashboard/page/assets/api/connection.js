// @ts-check
/** How everything that is followed is doing, as one sentence for the user. */

import { follow } from "./follow.js";

/** @typedef {import("../types.js").FollowState} FollowState */

/** @type {Map<object, FollowState>} */
const states = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {AbortSignal} signal @param {() => void} listener */
export function whenConnectionChanges(signal, listener) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}

/** The worst state of all. @returns {FollowState} */
export function connectionState() {
  const all = [...states.values()];
  return (
    all.find((one) => one.phase === "lost") ??
    all.find((one) => one.phase === "listing") ?? { phase: "live", revision: "", after: "list" }
  );
}

/**
 * Follows a collection and counts it in.
 * @template T
 * @param {import("./follow.js").Collection<T>} collection
 */
export async function followLive(collection) {
  const id = {};
  const report = () => listeners.forEach((listener) => listener());
  try {
    await follow({
      ...collection,
      state: (state) => {
        states.set(id, state);
        collection.state(state);
        report();
      },
    });
  } finally {
    states.delete(id);
    report();
  }
}
