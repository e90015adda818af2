// @ts-check
/** What the server serves, custom kinds included: read once, and again when something is not known. */

import { requestJson } from "./http.js";
import { splitApiVersion } from "./paths.js";

/** @typedef {import("../types.js").Kind} Kind */

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** @type {Kind[]} */
let known = [];
/** @type {Promise<Kind[]> | null} */
let reading = null;

export function knownKinds() {
  return known;
}

/** @returns {Promise<Kind[]>} */
export function readKinds() {
  reading ??= Promise.all(["/api", "/apis"].map((path) => requestJson(path, { accept: AGGREGATED })))
    .then((lists) => (known = lists.flatMap((list) => list.items).flatMap(kindsOf)))
    .finally(() => (reading = null));
  return reading;
}

/** @param {any} item The preferred version comes first; a resource is taken from the first that has it. */
function kindsOf(item) {
  const group = item.metadata?.name ?? "";
  /** @type {Map<string, Kind>} */
  const found = new Map();
  for (const version of item.versions) {
    for (const one of version.resources ?? []) {
      if (found.has(one.resource)) continue;
      found.set(one.resource, {
        group,
        version: version.version,
        resource: one.resource,
        kind: one.responseKind.kind,
        namespaced: one.scope === "Namespaced",
        verbs: one.verbs,
        subresources: (one.subresources ?? []).map((/** @type {any} */ sub) => sub.subresource),
        shortNames: one.shortNames ?? [],
      });
    }
  }
  return [...found.values()];
}

/** @param {string} group @param {string} resource */
export function kindOf(group, resource) {
  return known.find((one) => one.group === group && one.resource === resource);
}

/** @param {string} group @param {string} resource @param {string} [version] */
export async function findKind(group, resource, version = "") {
  const found = kindOf(group, resource) ?? (await readKinds(), kindOf(group, resource));
  return found && version ? { ...found, version } : found;
}

/** @param {{apiVersion: string, kind: string}} reference */
export function kindOfReference({ apiVersion, kind }) {
  const [group] = splitApiVersion(apiVersion);
  return known.find((one) => one.group === group && one.kind === kind);
}

/** @param {Kind} kind */
export function isListed(kind) {
  return kind.verbs.includes("list");
}
