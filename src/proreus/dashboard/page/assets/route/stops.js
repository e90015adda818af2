// @ts-check
/** The stops of the route, as they are drawn. */

import { h } from "../dom/element.js";
import { plainTable } from "../object/summary.js";
import { bytes, counted, duration } from "../text/format.js";
import { cacheTone, controllersOf, handlersOf, informersOf, isSilent, legTone, legsOf, queueTone, watcherTone } from "./facts.js";

/** @typedef {import("./facts.js").ChangeFacts} ChangeFacts */
/** @typedef {import("./facts.js").Tone} Tone */
/** @typedef {import("../dom/element.js").Child} Child */

const WATCHERS_MAX = 50;

/** @param {string} number @param {string} title @param {string} explained @param {Tone | ""} tone @param {...Child} content */
function stop(number, title, explained, tone, ...content) {
  return h("section", { class: "stop", "data-tone": tone },
    h("header", {}, h("span", { class: "number" }, number), h("h2", {}, title), h("span", { class: "faint" }, explained)), ...content);
}

/** @param {Tone | ""} tone @param {string} text */
function state(tone, text) {
  return h("span", { class: "state", "data-tone": tone }, text);
}

/** @param {ChangeFacts[]} changes @param {ChangeFacts | null} chosen @param {(revision: number) => void} choose */
export function changeStop(changes, chosen, choose) {
  const rows = changes.map((change) => {
    const { ingest, delivery } = legsOf(change);
    return h("div", { class: "change", role: "option", tabindex: 0, "aria-selected": String(change === chosen),
      onclick: () => choose(change.revision), onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && choose(change.revision) },
    h("span", { class: "mono" }, String(change.revision)),
    state(change.type === "DELETED" ? "bad" : change.type === "ADDED" ? "good" : "", change.type.toLowerCase()),
    h("span", { class: "name" }, change.namespace ? `${change.namespace}/${change.name}` : change.name),
    h("span", { class: "faint" }, change.manager ?? ""),
    h("span", { class: "mono leg", "data-tone": legTone((ingest ?? 0) + (delivery ?? 0)) }, delivery === null ? "no watcher" : duration((ingest ?? 0) + delivery)));
  });
  const list = h("div", { class: "changes", role: "listbox", "aria-label": "Changes" }, ...rows);
  return stop("1", "Write", "committed by the store, in one order of revisions", "", rows.length ? list : h("p", { class: "faint" }, "No change is remembered yet."));
}

/** @param {import("./facts.js").RouteFacts} facts @param {ChangeFacts | null} chosen */
export function cacheStop({ cache, revision }, chosen) {
  if (!cache) return stop("2", "Watch cache", "", "wait", h("p", { class: "faint" }, "There is no cache of this resource."));
  const tone = cacheTone(cache, revision);
  const bar = h("span", { class: "fill" });
  bar.style.width = `${Math.min(100, (100 * cache.windowEvents) / Math.max(1, cache.windowCapacity))}%`;
  const legs = chosen && legsOf(chosen);
  return stop("2", "Watch cache", "lists and watches are answered from here", tone,
    legs && h("p", {}, `Revision ${chosen.revision}: `,
      h("span", { class: "leg", "data-tone": legTone(legs.ingest) }, legs.ingest === null ? "ingested" : `ingested ${duration(legs.ingest)} after its commit`),
      legs.delivery === null ? ", concerned no live watcher" : ", ",
      legs.delivery !== null && h("span", { class: "leg", "data-tone": legTone(legs.delivery) }, `sent ${duration(legs.delivery)} later`)),
    h("div", { class: "meter wide" }, h("span", {}, "Window"), h("span", { class: "track" }, bar),
      h("span", { class: "faint" }, `${cache.windowEvents} of ${cache.windowCapacity} events, from revision ${cache.oldestRevision}`)),
    h("div", { class: "inline-facts" },
      state(tone, cache.revision >= revision ? "fresh" : `${revision - cache.revision} revisions behind`),
      h("span", {}, `revision ${cache.revision}`), h("span", {}, counted(cache.objects, "object")), h("span", {}, counted(cache.watchers, "watcher")),
      h("span", { class: "faint" }, cache.secondsSinceEvent === null ? "no event yet" : `last event ${duration(cache.secondsSinceEvent * 1000)} ago`)));
}

/** @param {import("./facts.js").WatcherFacts[]} watchers @param {ChangeFacts | null} chosen */
export function watcherStop(watchers, chosen) {
  const rank = { bad: 0, wait: 1, good: 2 };
  const sorted = [...watchers].sort((one, other) => rank[watcherTone(one)] - rank[watcherTone(other)] || one.userAgent.localeCompare(other.userAgent));
  const worst = sorted[0] ? watcherTone(sorted[0]) : "";
  const rows = sorted.slice(0, WATCHERS_MAX).map((one) => {
    const tone = watcherTone(one);
    const hasIt = chosen !== null && one.position >= chosen.revision;
    const scope = [one.namespace, one.labelSelector, one.fieldSelector].filter(Boolean).join(" ");
    return h("tr", {},
      h("td", {}, state(tone, one.phase)),
      h("td", { title: one.user }, shortAgent(one.userAgent), scope && h("span", { class: "faint" }, ` ${scope}`)),
      h("td", { class: "mono" }, String(one.position), chosen && h("span", { class: hasIt ? "has" : "faint" }, hasIt ? " ✓" : " …")),
      h("td", { class: "leg", "data-tone": one.behindEvents ? "wait" : "good" }, String(one.behindEvents)),
      h("td", { class: "leg", "data-tone": tone }, one.bufferedBytes ? bytes(one.bufferedBytes) : "0"),
      h("td", { class: "faint" }, String(one.eventsSent)));
  });
  const more = sorted.length - rows.length;
  return stop("3", "Watchers", counted(watchers.length, "connection"), worst,
    rows.length ? plainTable(["Phase", "Who", "Position", "Behind", "Unread", "Sent"], rows) : h("p", { class: "faint" }, "Nobody watches this resource."),
    more > 0 && h("p", { class: "faint" }, `and ${more} more that are doing well`));
}

/** @param {string} agent */
function shortAgent(agent) {
  return agent.split(" ", 1)[0].slice(0, 60) || "unknown";
}

/** @param {import("./facts.js").ClientFacts[]} clients @param {import("./facts.js").Subject} of @param {ChangeFacts | null} chosen */
export function clientStop(clients, of, chosen) {
  const cards = clients.flatMap((client) => {
    const informers = informersOf(client, of);
    return informers.length ? [clientCard(client, informers, chosen)] : [];
  });
  return stop("4", "Clients", "reflector → delta queue → handlers → work queue → reconcile → writes", "",
    cards.length ? h("div", { class: "clients" }, ...cards) : h("p", { class: "faint" }, "No client that follows this resource has reported yet."));
}

/** @param {import("./facts.js").ClientFacts} client @param {import("./facts.js").InformerFacts[]} informers @param {ChangeFacts | null} chosen */
function clientCard(client, informers, chosen) {
  const silent = isSilent(client, Date.now());
  const controllers = controllersOf(client, informers);
  return h("div", { class: "card" },
    h("header", {}, h("h2", {}, client.userAgent, h("span", { class: "faint" }, `  ${client.identity}`)), state(silent ? "bad" : "good", silent ? "silent" : "reporting")),
    ...informers.map((one) => informerLine(one, chosen)),
    controllers.length > 0 && plainTable(["Controller", "Queued", "Later", "At work", "Reconciles", "Failures", "Last that wrote"], controllers.map(controllerRow)));
}

/** @param {import("./facts.js").InformerFacts} informer @param {ChangeFacts | null} chosen */
function informerLine(informer, chosen) {
  const hasIt = chosen !== null && Number(informer.resourceVersion) >= chosen.revision;
  const handlers = handlersOf(informer);
  const behind = [...handlers.values()].reduce((sum, one) => sum + one, 0);
  const slowest = [...handlers].sort((one, other) => other[1] - one[1])[0];
  const said = behind && slowest ? `${slowest[0]} is ${slowest[1]} behind` : counted(handlers.size, "handler");
  return h("div", { class: "inline-facts" },
    state(informer.synced ? "good" : "wait", `reflector ${informer.phase} at ${informer.resourceVersion || "?"}${hasIt ? " ✓" : ""}`), "→",
    state(queueTone(informer.queueLength), informer.queueLength ? `${counted(informer.queueLength, "delta")}, ${duration(informer.lagSeconds * 1000)} old` : "no delta queued"), "→",
    h("span", { class: "state", "data-tone": queueTone(behind), title: [...handlers.keys()].join("\n") }, said),
    h("span", { class: "faint" }, `${informer.name}, ${counted(informer.objects, "object")}`));
}

/** @param {import("./facts.js").ControllerFacts} controller */
function controllerRow(controller) {
  const last = controller.lastWriting;
  const writes = last?.writes.map((one) =>
    h("span", { class: "chip" }, `${one.verb} ${one.resource} ${one.name}${one.revision ? ` → ${one.revision}` : ""}`)) ?? [];
  return h("tr", {}, h("td", {}, controller.name),
    h("td", {}, state(queueTone(controller.queueDepth), String(controller.queueDepth))), h("td", {}, String(controller.delayed)), h("td", {}, String(controller.active)),
    h("td", {}, String(controller.reconciles)),
    h("td", { class: "leg", "data-tone": controller.failures ? "bad" : "good" }, String(controller.failures)),
    h("td", {}, last ? h("span", { class: "chips" }, `${last.key} in ${duration(last.seconds * 1000)} `, ...writes) : "–"));
}
