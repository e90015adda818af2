// @ts-check
/** What can be done with an object as a whole; only what the user may do is offered. */

import { may } from "../api/access.js";
import { request, requestJson } from "../api/http.js";
import { notify, showDialog } from "../dom/dialog.js";
import { h } from "../dom/element.js";

/** @typedef {import("./subject.js").Subject} Subject */

const MERGE = "application/merge-patch+json";
const RESTARTED = new Set(["deployments", "statefulsets", "daemonsets"]);

/** @param {Subject} subject */
export function actionButtons(subject) {
  const { kind, namespace, name } = subject;
  const place = h("span", { class: "actions" });
  const offer = async (/** @type {boolean} */ exists, /** @type {string} */ verb, /** @type {string} */ subresource, /** @type {HTMLElement} */ button) => {
    if (!exists) return;
    button.hidden = true;
    place.append(button);
    button.hidden = !(await may({ verb, kind, subresource, namespace, name }));
    if (button.hidden) button.remove();
  };
  const canRestart = kind.group === "apps" && RESTARTED.has(kind.resource);
  void offer(kind.subresources.includes("scale"), "patch", "scale", h("button", { onclick: () => void scale(subject) }, "Scale"));
  void offer(canRestart, "patch", "", h("button", { onclick: () => restart(subject) }, "Restart"));
  void offer(kind.verbs.includes("delete"), "delete", "", h("button", { class: "danger", onclick: () => remove(subject) }, "Delete"));
  return place;
}

/** @param {Subject} subject */
async function scale(subject) {
  const now = await requestJson(subject.path("scale"));
  const field = h("input", { type: "number", min: 0, value: now.spec.replicas ?? 0, "aria-label": "Replicas" });
  const run = async () => {
    const replicas = Number(field.value);
    if (!Number.isInteger(replicas) || replicas < 0) throw new Error("Replicas are a whole number.");
    const body = JSON.stringify({ spec: { replicas } });
    await requestJson(subject.path("scale"), { method: "PATCH", body, contentType: MERGE });
    notify(`${subject.name} is scaled to ${replicas}.`);
  };
  showDialog(`Scale ${subject.name}`, h("label", {}, `Replicas (${now.status?.replicas ?? 0} now)`, field), [{ label: "Scale", run }]);
  field.select();
}

/** @param {Subject} subject */
function restart(subject) {
  const run = async () => {
    const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString().replace(/\.\d+Z$/, "Z") };
    const body = JSON.stringify({ spec: { template: { metadata: { annotations } } } });
    await requestJson(subject.path(), { method: "PATCH", body, contentType: MERGE });
    notify(`${subject.name} is restarted: its pods are replaced as its update strategy says.`);
  };
  showDialog(`Restart ${subject.name}`, h("p", {}, "All its pods are replaced, as its update strategy says."), [{ label: "Restart", run }]);
}

/** @param {Subject} subject */
function remove(subject) {
  const { kind, namespace, name, object } = subject;
  const policy = h("select", { "aria-label": "Dependents" },
    h("option", { value: "Background" }, "are deleted afterwards"),
    h("option", { value: "Foreground" }, "are deleted first"),
    h("option", { value: "Orphan" }, "stay"));
  const run = async () => {
    const uid = object?.metadata.uid;
    const body = JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: policy.value, preconditions: uid ? { uid } : undefined });
    await request(subject.path(), { method: "DELETE", body });
    notify(`${name} is being deleted.`);
  };
  const where = namespace ? ` in ${namespace}` : "";
  showDialog(`Delete ${kind.kind} ${name}`, h("label", {}, `${name}${where} is deleted for good. What it owns`, policy), [{ label: "Delete", kind: "danger", run }]);
}
