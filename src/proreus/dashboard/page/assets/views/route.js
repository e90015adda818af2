// @ts-check
/** The route of an event: a change from the store to the controller that acts on it, stop by stop. */

import { may } from "../api/access.js";
import { isListed, kindOf, knownKinds } from "../api/discovery.js";
import { messageOf, requestJson } from "../api/http.js";
import { href, objectPath } from "../api/paths.js";
import { notify } from "../dom/dialog.js";
import { h, replace, setText } from "../dom/element.js";
import { every, settled } from "../dom/frames.js";
import { readRoute } from "../route/facts.js";
import { cacheStop, changeStop, clientStop, watcherStop } from "../route/stops.js";

const EVERY_MS = 1_000;

/** @param {import("../types.js").Visit} visit */
export async function showRoute({ root, place, signal }) {
  if (!(await may({ verb: "get", path: "/debug/listwatch/route" }))) {
    replace(root, h("p", { class: "empty" }, "The route of an event is for those who may get /debug/listwatch/ (docs/debug.md)."));
    return;
  }
  const asked = (/** @type {string} */ name) => place.query.get(name) ?? "";
  const kinds = knownKinds().filter(isListed);
  const kind = h("select", { "aria-label": "Kind" }, ...kinds.map((one) =>
    h("option", { value: `${one.group}/${one.resource}`, selected: one.group === asked("group") && one.resource === (asked("resource") || "pods") },
      one.group ? `${one.resource}.${one.group}` : one.resource)));
  const namespace = h("input", { type: "text", placeholder: "Namespace", "aria-label": "Of namespace", value: asked("namespace"), spellcheck: "false" });
  const name = h("input", { type: "text", placeholder: "Name", "aria-label": "Name", "data-filter": true, value: asked("name"), spellcheck: "false" });
  const pause = h("button", { class: "quiet", "aria-pressed": "false", onclick: () => pause.setAttribute("aria-pressed", String(!isPaused())) }, "Pause");
  const touch = h("button", { hidden: true, title: "Writes an annotation to the object named here", onclick: () => void write() }, "Send a change");
  const problem = h("p", { class: "empty", role: "alert", hidden: true });
  const stops = h("div", { class: "stops" });
  const isPaused = () => pause.getAttribute("aria-pressed") === "true";
  let followed = 0;

  const of = () => {
    const [group, resource] = kind.value.split("/");
    return { group, resource, namespace: namespace.value.trim(), name: name.value.trim() };
  };
  const write = async () => {
    const { group, resource, namespace: inside, name: named } = of();
    const found = kindOf(group, resource);
    if (!found) return;
    const annotations = { "proreus.dev/dashboard-sent": new Date().toISOString() };
    try {
      const written = await requestJson(objectPath(found, inside, named), {
        method: "PATCH", body: JSON.stringify({ metadata: { annotations } }), contentType: "application/merge-patch+json",
      });
      followed = Number(written.metadata.resourceVersion);
      await read();
    } catch (error) {
      notify(messageOf(error), "bad");
    }
  };

  let isReading = false;
  const read = async () => {
    if (isReading || document.hidden) return;
    isReading = true;
    try {
      const facts = await readRoute(of(), signal);
      const chosen = facts.changes.find((one) => one.revision === followed) ?? facts.changes[0] ?? null;
      const choose = (/** @type {number} */ revision) => ((followed = revision), void read());
      problem.hidden = true;
      replace(stops, changeStop(facts.changes, chosen, choose), cacheStop(facts, chosen),
        watcherStop(facts.watchers, chosen), clientStop(facts.clients, of(), chosen));
    } catch (error) {
      if (signal.aborted) return;
      problem.hidden = false;
      setText(problem, messageOf(error));
    } finally {
      isReading = false;
    }
  };
  const offerTouch = async () => {
    const { group, resource, namespace: inside, name: named } = of();
    const found = kindOf(group, resource);
    touch.hidden = !found || !named || !(await may({ verb: "patch", kind: found, namespace: inside, name: named }));
  };
  const changed = settled(250, () => {
    followed = 0;
    void offerTouch();
    history.replaceState(null, "", href(["route"], of()));
    void read();
  });
  for (const field of [kind, namespace, name]) field.addEventListener("input", changed);
  replace(root,
    h("header", { class: "bar" }, h("h1", {}, "Route of an event"), kind, namespace, name, h("span", { class: "grow" }), touch, pause),
    problem, stops);
  void offerTouch();
  every(EVERY_MS, signal, () => !isPaused() && void read());
  await read();
}
