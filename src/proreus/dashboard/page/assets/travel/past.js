// @ts-check
/** The past, as the store still has it: lists as they were, the revisions at which they changed. */

import { requestJson } from "../api/http.js";
import { collectionPath } from "../api/paths.js";
import { TABLE } from "../api/watch_stream.js";
import { toYaml } from "../text/yaml.js";

/** @typedef {import("../types.js").Kind} Kind */
/** @typedef {{oldestRevision: number, revision: number}} Span */
/** @typedef {{revision: number, time: string, text: string}} Mark A revision at which something changed. */

const PAGE = "500";
const MARKS = "1000";

/** @param {AbortSignal} signal @returns {Promise<Span>} */
export function readSpan(signal) {
  return requestJson("/debug/history", { signal });
}

/** In order. @param {Kind[]} kinds @param {string} namespace @param {AbortSignal} signal @returns {Promise<Mark[]>} */
export async function readMarks(kinds, namespace, signal) {
  const lists = await Promise.all(kinds.map(async ({ group, resource }) => {
    const query = { group, resource, namespace, limit: MARKS };
    const { changes } = await requestJson("/debug/listwatch/route", { query, signal }).catch(() => ({ changes: [] }));
    return changes.map((/** @type {any} */ one) => ({
      revision: one.revision,
      time: one.committedAt ?? one.ingestedAt,
      text: `${one.type.toLowerCase()} ${resource} ${one.namespace ? `${one.namespace}/` : ""}${one.name}${one.manager ? ` by ${one.manager}` : ""}`,
    }));
  }));
  return lists.flat().sort((one, other) => one.revision - other.revision);
}

/**
 * A list as it was; whole, however long.
 * @param {Kind} kind @param {string} namespace @param {number} revision @param {AbortSignal} signal
 * @param {boolean} [isTable]
 * @returns {Promise<any>} with all items or rows
 */
export async function listAt(kind, namespace, revision, signal, isTable = false) {
  const items = isTable ? "rows" : "items";
  /** @type {any} */
  let whole = null;
  let token = "";
  do {
    /** @type {Record<string, string>} */
    const query = token ? { continue: token, limit: PAGE } : { resourceVersion: String(revision), resourceVersionMatch: "Exact", limit: PAGE };
    const accept = isTable ? TABLE : "application/json";
    const page = await requestJson(collectionPath(kind, namespace), { query, accept, signal });
    if (whole) whole[items].push(...(page[items] ?? []));
    else whole = { ...page, [items]: page[items] ?? [] };
    token = page.metadata.continue ?? "";
  } while (token);
  return whole;
}

/**
 * All objects of the kinds at a revision, as one YAML stream.
 * @param {Kind[]} kinds @param {string} namespace @param {number} revision @param {AbortSignal} signal
 */
export async function exportAt(kinds, namespace, revision, signal) {
  /** @type {string[]} */
  const documents = [];
  for (const kind of kinds) {
    const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
    const { items } = await listAt(kind, namespace, revision, signal);
    for (const { metadata, ...rest } of items) {
      const { managedFields: _, ...kept } = metadata;
      documents.push(toYaml({ ...rest, apiVersion, kind: kind.kind, metadata: kept }));
    }
  }
  return `# ${documents.length} objects at revision ${revision}\n${documents.map((text) => `---\n${text}`).join("")}`;
}
