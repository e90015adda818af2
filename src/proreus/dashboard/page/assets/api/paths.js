// @ts-check
/** Where a kind and an object are: on the API server, and in this page. */

/** @typedef {import("../types.js").Kind} Kind */

/** @param {string} group @param {string} version */
export function groupVersion(group, version) {
  return group ? `${group}/${version}` : version;
}

/** @param {string} apiVersion @returns {[group: string, version: string]} */
export function splitApiVersion(apiVersion) {
  const cut = apiVersion.indexOf("/");
  return cut < 0 ? ["", apiVersion] : [apiVersion.slice(0, cut), apiVersion.slice(cut + 1)];
}

/** @param {Kind} kind @param {string} namespace "" is all of them. */
export function collectionPath(kind, namespace) {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const within = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${within}/${kind.resource}`;
}

/** @param {Kind} kind @param {string} namespace @param {string} name @param {string} [subresource] */
export function objectPath(kind, namespace, name, subresource = "") {
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** @param {Kind} kind @param {Record<string, string>} [query] */
export function kindHref(kind, query = {}) {
  return href(["kinds", kind.group || "core", kind.version, kind.resource], query);
}

/** @param {Kind} kind @param {string} namespace @param {string} name @param {Record<string, string>} [query] */
export function objectHref(kind, namespace, name, query = {}) {
  const path = ["object", kind.group || "core", kind.version, kind.resource, namespace || "-", name];
  return href(path, query);
}

/** @param {string[]} path @param {Record<string, string>} [query] */
export function href(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "");
  const rest = kept.length ? `?${new URLSearchParams(kept)}` : "";
  return `#/${path.map(encodeURIComponent).join("/")}${rest}`;
}

/** @param {string} hash @returns {import("../types.js").Place} */
export function placeOf(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").map(decodeSafely), query: new URLSearchParams(query) };
}

/** @param {string} text */
function decodeSafely(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
