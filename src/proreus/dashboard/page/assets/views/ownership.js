// @ts-check
/**
 * Objects as they own each other: a forest by owner references, flattened to the rows that are
 * unfolded. Reading an object keeps only what a row shows. A change costs a place among its siblings;
 * nothing is sorted anew.
 */

import { OrderedRows, compareCells, matcher } from "../text/ordered_rows.js";

/** @typedef {import("../types.js").KubeObject} KubeObject */

/**
 * @typedef {object} Member
 * @property {string} uid
 * @property {string} kind
 * @property {string} group
 * @property {string} resource "" if only a reference is known of it.
 * @property {string} namespace
 * @property {string} name
 * @property {string} owner The uid of its controller, or "".
 * @property {string} ownedBy The controller's kind and name, for one that is not in the forest.
 * @property {string} ready
 * @property {string} status
 * @property {string} info
 * @property {string} created
 */
/** @typedef {{member: Member, depth: number, children: number, isOpen: boolean}} TreeRow */

export const WORKLOADS = [
  { group: "apps", resource: "deployments", kind: "Deployment" },
  { group: "apps", resource: "statefulsets", kind: "StatefulSet" },
  { group: "apps", resource: "daemonsets", kind: "DaemonSet" },
  { group: "batch", resource: "cronjobs", kind: "CronJob" },
  { group: "batch", resource: "jobs", kind: "Job" },
  { group: "apps", resource: "replicasets", kind: "ReplicaSet" },
  { group: "", resource: "replicationcontrollers", kind: "ReplicationController" },
  { group: "", resource: "pods", kind: "Pod" },
];
const RANK = new Map(WORKLOADS.map(({ kind }, index) => [kind, index]));
// A tree of this many rows is folded at first.
const FOLDED_FROM = 40;

/** @param {{group: string, resource: string, kind: string}} of @param {KubeObject} object @returns {Member} */
export function readMember({ group, resource, kind }, object) {
  const { metadata } = object;
  const owner = (metadata.ownerReferences ?? []).find((one) => one.controller);
  const { ready, status, info } = stateOf(kind, object);
  return {
    uid: metadata.uid,
    kind, group, resource,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    owner: owner?.uid ?? "",
    ownedBy: owner ? `${owner.kind} ${owner.name}` : "",
    ready,
    status: metadata.deletionTimestamp ? "Terminating" : status,
    info,
    created: metadata.creationTimestamp,
  };
}

/** @param {string} kind @param {KubeObject} object */
function stateOf(kind, { spec = {}, status = {}, metadata }) {
  const condition = (/** @type {string} */ type) =>
    (status.conditions ?? []).find((/** @type {any} */ one) => one.type === type && one.status === "True");
  const share = (/** @type {number} */ ready, /** @type {number} */ wanted) => ({
    ready: `${ready}/${wanted}`,
    status: ready >= wanted ? "Ready" : "Progressing",
    info: "",
  });
  switch (kind) {
    case "Pod":
      return podState(spec, status);
    case "DaemonSet":
      return share(status.numberReady ?? 0, status.desiredNumberScheduled ?? 0);
    case "Job": {
      const done = status.succeeded ?? 0;
      const ended = condition("Complete") ? "Complete" : condition("Failed") ? "Failed" : spec.suspend ? "Suspended" : "Running";
      return { ready: `${done}/${spec.completions ?? 1}`, status: ended, info: "" };
    }
    case "CronJob":
      return { ready: String((status.active ?? []).length), status: spec.suspend ? "Suspended" : "Active", info: spec.schedule ?? "" };
    case "ReplicaSet": {
      const revision = metadata.annotations?.["deployment.kubernetes.io/revision"];
      const { ready, status: state } = share(status.readyReplicas ?? 0, spec.replicas ?? 1);
      return { ready, status: spec.replicas === 0 ? "" : state, info: revision ? `revision ${revision}` : "" };
    }
    default:
      return share(status.readyReplicas ?? 0, spec.replicas ?? 1);
  }
}

/** As kubectl says it. @param {any} spec @param {any} status */
function podState(spec, status) {
  const containers = status.containerStatuses ?? [];
  const ready = containers.filter((/** @type {any} */ one) => one.ready).length;
  let state = status.reason ?? status.phase ?? "Pending";
  for (const one of [...(status.initContainerStatuses ?? []), ...containers]) {
    const reason = one.state?.waiting?.reason ?? (one.state?.terminated && one.state.terminated.exitCode !== 0 ? one.state.terminated.reason || "Error" : undefined);
    if (reason && reason !== "PodInitializing") state = reason;
  }
  if (state === "Succeeded") state = "Completed";
  return { ready: `${ready}/${(spec.containers ?? []).length}`, status: state, info: spec.nodeName ?? "" };
}

export class Forest {
  constructor() {
    /** @type {Map<string, Member>} */
    this.members = new Map();
    /** @type {Map<string, OrderedRows<Member>>} By the owner's uid, whether that is here or not; "" for none. */
    this.owned = new Map();
    /** @type {Map<string, boolean>} What the user unfolded or folded. */
    this.chosen = new Map();
  }

  /** All members of a resource at once. @param {string} group @param {string} resource @param {Member[]} members */
  replace(group, resource, members) {
    for (const member of [...this.members.values()]) {
      if (member.group === group && member.resource === resource) this.remove(member.uid);
    }
    for (const member of members) this.set(member);
  }

  /** @param {Member} member */
  set(member) {
    const old = this.members.get(member.uid);
    if (old && old.owner !== member.owner) this.remove(member.uid);
    this.members.set(member.uid, member);
    const siblings = this.owned.get(member.owner) ?? new OrderedRows(byName);
    siblings.set(member);
    this.owned.set(member.owner, siblings);
  }

  /** @param {string} uid */
  remove(uid) {
    const old = this.members.get(uid);
    if (!old) return;
    this.members.delete(uid);
    const siblings = this.owned.get(old.owner);
    siblings?.remove(uid);
    if (siblings?.all.size === 0) this.owned.delete(old.owner);
  }

  /** @param {Member} member */
  toggle(member) {
    this.chosen.set(member.uid, !this.#isOpen(member.uid));
  }

  /** @param {string} uid */
  #isOpen(uid) {
    return this.chosen.get(uid) ?? (this.owned.get(uid)?.all.size ?? 0) < FOLDED_FROM;
  }

  /** @param {{namespace: string, filter: string, hasOld: boolean}} what @returns {TreeRow[]} */
  rows({ namespace, filter, hasOld }) {
    const matches = matcher(filter);
    const wanted = filter ? this.#withOwners((one) => matches(`${one.kind} ${one.namespace} ${one.name} ${one.status} ${one.info}`)) : null;
    /** @type {TreeRow[]} */
    const rows = [];
    const visible = (/** @type {Member} */ one) =>
      (!namespace || one.namespace === namespace) && (!wanted || wanted.has(one.uid)) &&
      (hasOld || one.kind !== "ReplicaSet" || one.ready !== "0/0" || !one.owner);
    /** @param {Member} member @param {number} depth */
    const add = (member, depth) => {
      const children = this.owned.get(member.uid)?.flush().filter(visible) ?? [];
      const isOpen = wanted !== null || this.#isOpen(member.uid);
      rows.push({ member, depth, children: children.length, isOpen });
      if (isOpen) for (const child of children) add(child, depth + 1);
    };
    for (const root of this.#roots()) if (visible(root)) add(root, 0);
    return rows;
  }

  /** Those without an owner, and those whose owner is not here: of a custom kind, or just deleted. */
  #roots() {
    const free = this.owned.get("")?.flush() ?? [];
    const orphans = [...this.owned].flatMap(([owner, members]) => (owner === "" || this.members.has(owner) ? [] : members.flush()));
    return orphans.length ? [...free, ...orphans].sort(byName) : free;
  }

  /** @param {(member: Member) => boolean} accepts */
  #withOwners(accepts) {
    /** @type {Set<string>} */
    const wanted = new Set();
    for (const member of this.members.values()) {
      if (!accepts(member)) continue;
      for (let one = /** @type {Member | undefined} */ (member); one && !wanted.has(one.uid); one = this.members.get(one.owner)) {
        wanted.add(one.uid);
      }
    }
    return wanted;
  }
}

/** @param {Member} one @param {Member} other */
function byName(one, other) {
  return (
    compareCells(one.namespace, other.namespace) ||
    (RANK.get(one.kind) ?? 0) - (RANK.get(other.kind) ?? 0) ||
    compareCells(one.name, other.name)
  );
}
