// @ts-check
/** Whom an object belongs to, and what belongs to it, in any kind. */

import { listable } from "../api/access.js";
import { isListed, kindOfReference, readKinds } from "../api/discovery.js";
import { requestJson } from "../api/http.js";
import { collectionPath, objectHref, objectPath } from "../api/paths.js";
import { h, replace } from "../dom/element.js";
import { age } from "../text/format.js";
import { plainTable, section } from "./summary.js";

/** @typedef {import("../types.js").Kind} Kind */
/** @typedef {import("../types.js").KubeObject} KubeObject */
/** @typedef {{kind: Kind, metadata: import("../types.js").Metadata}} Relative */

const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const AT_ONCE = 3;
const OWNERS_MAX = 10;

/** @param {HTMLElement} panel @param {import("./subject.js").Subject} subject @param {AbortSignal} signal */
export async function showRelations(panel, subject, signal) {
  const { object, namespace } = subject;
  if (!object) {
    subject.onChange(signal, () => !panel.hasChildNodes() && void showRelations(panel, subject, signal));
    return;
  }
  const above = h("div", {}, "…");
  const below = h("div", {}, "Looking in every kind…");
  replace(panel, section("Owners", above), section("Dependents", below));
  const owners = await ownersAbove(object, namespace, signal);
  replace(above, owners.length ? relativesTable(owners) : h("span", { class: "faint" }, "None: nothing else decides about it."));
  const found = await dependents(object.metadata.uid, namespace, signal, (looked, all) => {
    if (looked < all) replace(below, `Looking in every kind: ${looked} of ${all}…`);
  });
  if (!signal.aborted) replace(below, found.length ? relativesTable(found) : h("span", { class: "faint" }, "None."));
}

/** @param {Relative[]} relatives */
function relativesTable(relatives) {
  return plainTable(["Kind", "Name", "Namespace", "Age"], relatives.map(({ kind, metadata }) =>
    h("tr", {}, h("td", {}, kind.kind),
      h("td", {}, h("a", { href: objectHref(kind, metadata.namespace ?? "", metadata.name) }, metadata.name)),
      h("td", {}, metadata.namespace ?? ""), h("td", {}, age(metadata.creationTimestamp)))));
}

/** The nearest first. @param {KubeObject} object @param {string} namespace @param {AbortSignal} signal */
async function ownersAbove(object, namespace, signal) {
  /** @type {Relative[]} */
  const owners = [];
  let references = object.metadata.ownerReferences ?? [];
  while (references.length && owners.length < OWNERS_MAX) {
    const reference = references.find((one) => one.controller) ?? references[0];
    const kind = kindOfReference(reference);
    if (!kind) break;
    try {
      const path = objectPath(kind, kind.namespaced ? namespace : "", reference.name);
      const { metadata } = await requestJson(path, { accept: METADATA, signal });
      owners.push({ kind, metadata });
      references = metadata.ownerReferences ?? [];
    } catch {
      break;
    }
  }
  return owners;
}

/**
 * @param {string} uid @param {string} namespace @param {AbortSignal} signal
 * @param {(looked: number, all: number) => void} progress
 */
async function dependents(uid, namespace, signal, progress) {
  // Events are about objects and belong to none.
  const all = (await readKinds()).filter((kind) => isListed(kind) && kind.resource !== "events" && (!namespace || kind.namespaced));
  const kinds = await listable(all, namespace);
  /** @type {Relative[]} */
  const found = [];
  let looked = 0;
  const waiting = [...kinds];
  const worker = async () => {
    for (let kind = waiting.shift(); kind && !signal.aborted; kind = waiting.shift()) {
      found.push(...(await dependentsOf(kind, uid, namespace, signal).catch(() => [])));
      progress(++looked, kinds.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return found;
}

/** @param {Kind} kind @param {string} uid @param {string} namespace @param {AbortSignal} signal */
async function dependentsOf(kind, uid, namespace, signal) {
  /** @type {Relative[]} */
  const found = [];
  let token = "";
  do {
    const query = { limit: "500", continue: token };
    const page = await requestJson(collectionPath(kind, namespace), { accept: METADATA_LIST, query, signal });
    for (const { metadata } of page.items ?? []) {
      const isOwned = (metadata.ownerReferences ?? []).some((/** @type {any} */ one) => one.uid === uid);
      if (isOwned) found.push({ kind, metadata });
    }
    token = page.metadata.continue ?? "";
  } while (token);
  return found;
}
