// @ts-check
/** The namespace that the user looks at; remembered in the browser. */

const KEY = "proreus.namespace";
/** @type {Set<() => void>} */
const listeners = new Set();
let namespace = localStorage.getItem(KEY) ?? "";

/** "" is all of them. */
export function currentNamespace() {
  return namespace;
}

/** @param {string} chosen */
export function chooseNamespace(chosen) {
  if (chosen === namespace) return;
  namespace = chosen;
  localStorage.setItem(KEY, chosen);
  for (const listener of listeners) listener();
}

/** @param {AbortSignal} signal @param {() => void} listener */
export function whenNamespaceChanges(signal, listener) {
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener));
}
