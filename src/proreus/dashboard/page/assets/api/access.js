// @ts-check
/** What the user may do, asked of the server, so that nothing else is offered. */

import { requestJson } from "./http.js";

/** @typedef {import("../types.js").Kind} Kind */
/** @typedef {{verb: string, kind?: Kind, subresource?: string, namespace?: string, name?: string, path?: string}} Deed */

const REMEMBERED_MS = 60_000;
/** @type {Map<string, {until: number, answer: Promise<boolean>}>} */
const answers = new Map();

export function forgetAccess() {
  answers.clear();
}

/** @param {Deed} deed @returns {Promise<boolean>} */
export function may(deed) {
  const spec = specOf(deed);
  const key = JSON.stringify(spec);
  const known = answers.get(key);
  if (known && known.until > Date.now()) return known.answer;
  const answer = requestJson("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    method: "POST",
    body: JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec }),
  }).then(
    (review) => review.status.allowed === true,
    () => (answers.delete(key), false),
  );
  answers.set(key, { until: Date.now() + REMEMBERED_MS, answer });
  return answer;
}

/** @param {Deed} deed */
function specOf({ verb, kind, subresource = "", namespace = "", name = "", path = "" }) {
  if (!kind) return { nonResourceAttributes: { verb, path } };
  const { group, version, resource } = kind;
  return { resourceAttributes: { verb, group, version, resource, subresource, namespace, name } };
}

/** @typedef {{verbs: string[], apiGroups: string[], resources: string[]}} Rule */

/**
 * Which kinds the user may list in a namespace, by one question for all of them.
 * @param {Kind[]} kinds @param {string} namespace
 */
export async function listable(kinds, namespace) {
  const { status } = await requestJson("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
    method: "POST",
    body: JSON.stringify({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: namespace || "default" },
    }),
  });
  if (status.incomplete) return kinds;
  /** @type {Rule[]} */
  const rules = status.resourceRules ?? [];
  return kinds.filter((kind) => rules.some((rule) => allows(rule, "list", kind)));
}

/** @param {Rule} rule @param {string} verb @param {Kind} kind */
function allows(rule, verb, kind) {
  const named = (/** @type {string[] | undefined} */ list, /** @type {string} */ value) =>
    (list ?? []).some((one) => one === "*" || one === value);
  return named(rule.verbs, verb) && named(rule.apiGroups, kind.group) && named(rule.resources, kind.resource);
}
