// @ts-check
/**
 * A collection, followed through failures: list, then watch from there; resume from the last
 * resource version after a lost connection; list again when the server no longer has it (410).
 */

import { ApiError, messageOf, requestJson } from "./http.js";
import { TABLE, errorOfStatus, watchObjects, watchTables } from "./watch_stream.js";

/** @typedef {import("../types.js").FollowState} FollowState */

const PAGE = "500";
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8_000;

/**
 * @template T
 * @typedef {object} Collection
 * @property {string} path
 * @property {Record<string, string>} [query] Selectors.
 * @property {boolean} [table] Rows of the server's Table view instead of objects.
 * @property {(item: any) => T} read Keeps of an object or row what is needed; the rest is garbage.
 * @property {(items: T[], list: any) => void} replace
 * @property {(type: string, item: T, object: any) => void} change
 * @property {(state: FollowState) => void} state
 * @property {AbortSignal} signal
 */

/** @type {Set<() => void>} */
const waiting = new Set();

/** Those who wait after a failure try now. */
export function retryNow() {
  for (const wake of [...waiting]) wake();
}

window.addEventListener("online", retryNow);

/**
 * Until the signal says stop, or the server says that the user may not.
 * @template T
 * @param {Collection<T>} collection
 */
export async function follow(collection) {
  const { signal, state } = collection;
  let revision = "";
  let wait = FIRST_WAIT_MS;
  /** @type {"list" | "resume"} */
  let after = "list";
  while (!signal.aborted) {
    try {
      if (!revision) {
        state({ phase: "listing" });
        revision = await list(collection);
        after = "list";
      }
      const opened = () => state({ phase: "live", revision, after });
      await watchFrom(collection, revision, opened, (reached) => {
        revision = reached;
        after = "resume";
        wait = FIRST_WAIT_MS;
      });
      after = "resume";
    } catch (error) {
      if (signal.aborted) return;
      after = "resume";
      const code = error instanceof ApiError ? error.code : 0;
      if ([401, 403, 404, 405].includes(code)) {
        state({ phase: "refused", why: messageOf(error) });
        return;
      }
      if (code === 410) revision = "";
      else state({ phase: "lost", retryAt: Date.now() + wait, why: messageOf(error) });
      await pause(wait, signal);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  }
}

/** @param {number} milliseconds @param {AbortSignal} signal @returns {Promise<void>} */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      waiting.delete(wake);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    waiting.add(wake);
    signal.addEventListener("abort", wake);
  });
}

/**
 * @template T
 * @param {Collection<T>} collection
 * @returns {Promise<string>} the list's resource version
 */
async function list({ path, query = {}, table, read, replace, signal }) {
  /** @type {T[]} */
  const items = [];
  let first = null;
  let token = "";
  do {
    const accept = table ? TABLE : "application/json";
    const page = await requestJson(path, { query: { ...query, limit: PAGE, continue: token }, accept, signal });
    for (const item of (table ? page.rows : page.items) ?? []) items.push(read(item));
    first ??= page;
    token = page.metadata.continue ?? "";
  } while (token);
  replace(items, first);
  return first.metadata.resourceVersion;
}

/**
 * @template T
 * @param {Collection<T>} collection @param {string} revision @param {() => void} opened
 * @param {(revision: string) => void} reached
 */
async function watchFrom({ path, query = {}, table, read, change, signal }, revision, opened, reached) {
  const watch = table ? watchTables : watchObjects;
  const from = { ...query, resourceVersion: revision, allowWatchBookmarks: "true" };
  /** @param {import("./watch_stream.js").WatchEvent} event */
  const take = ({ type, object }) => {
    if (type === "ERROR") throw errorOfStatus(object);
    const items = table ? object.rows ?? [] : [object];
    if (type !== "BOOKMARK") for (const item of items) change(type, read(item), object);
    reached(object.metadata.resourceVersion);
  };
  await watch(path, from, signal, take, opened);
}
