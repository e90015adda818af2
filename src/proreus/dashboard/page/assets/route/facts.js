// @ts-check
/** What the debug pages say about list-watch, and which of it is slow or stuck. */

import { requestJson } from "../api/http.js";
import { exactTime } from "../text/format.js";

/** @typedef {{group: string, version: string, resource: string, ready?: boolean, objects: number, revision: number, oldestRevision: number, windowEvents: number, windowCapacity: number, watchers: number, secondsSinceEvent: number | null}} CacheFacts */
/** @typedef {{id: string, group: string, resource: string, namespace: string, labelSelector: string, fieldSelector: string, user: string, userAgent: string, phase: string, position: number, behindEvents: number, bufferedFrames: number, bufferedBytes: number, openSeconds: number, eventsSent: number}} WatcherFacts */
/** @typedef {{revision: number, type: string, namespace: string, name: string, manager: string | null, committedAt: string | null, ingestedAt: string, deliveredAt: string | null}} ChangeFacts */
/** @typedef {{name: string, resource: string, phase: string, synced: boolean, resourceVersion: string, queueLength: number, lagSeconds: number, objects: number, handlers: {name: string, behind: number}[]}} InformerFacts */
/** @typedef {{verb: string, resource: string, name: string, revision: number | null}} WriteFacts */
/** @typedef {{key: string, seconds: number, result: string, writes: WriteFacts[]}} ReconcileFacts */
/** @typedef {{name: string, resource: string, queueDepth: number, delayed: number, active: number, reconciles: number, failures: number, lastReconcile: ReconcileFacts | null, lastWriting: ReconcileFacts | null}} ControllerFacts */
/** @typedef {{identity: string, userAgent: string, updatedAt: string, informers: InformerFacts[], controllers: ControllerFacts[]}} ClientFacts */
/** @typedef {{revision: number, cache: CacheFacts | null, watchers: WatcherFacts[], changes: ChangeFacts[], clients: ClientFacts[]}} RouteFacts */
/** @typedef {{group: string, resource: string, namespace: string, name: string}} Subject */
/** @typedef {"good" | "wait" | "bad"} Tone */

const SHOWN_CHANGES = "40";
const SLOW_BYTES = 64 * 1024;
const STUCK_BYTES = 1024 * 1024;
const SLOW_MS = 250;
const STUCK_MS = 2_000;
const SLOW_EVENTS = 100;
const SILENT_CLIENT_MS = 30_000;

/** @param {Subject} of @param {AbortSignal} signal @returns {Promise<RouteFacts>} */
export async function readRoute(of, signal) {
  const { group, resource } = of;
  const ask = (/** @type {string} */ page, /** @type {Record<string, string>} */ query = {}) =>
    requestJson(`/debug/listwatch/${page}`, { query, signal });
  const [caches, watchers, route, clients] = await Promise.all([
    ask("caches"),
    ask("watchers", { group, resource }),
    ask("route", { ...of, limit: SHOWN_CHANGES }),
    // A server that nobody reports to has no such page.
    ask("clients").catch(() => ({ clients: [] })),
  ]);
  return {
    revision: caches.revision,
    cache: caches.caches.find((/** @type {CacheFacts} */ one) => one.group === group && one.resource === resource) ?? null,
    watchers: watchers.watchers,
    changes: route.changes,
    clients: clients.clients,
  };
}

/** @param {ClientFacts} client @param {Subject} of */
export function informersOf(client, { group, resource }) {
  const name = group ? `${resource}.${group}` : resource;
  return client.informers.filter((one) => one.resource === name);
}

/** The controllers that are handed what these informers see. @param {ClientFacts} client @param {InformerFacts[]} informers */
export function controllersOf(client, informers) {
  const names = new Set(informers.flatMap((one) => one.handlers.map((handler) => handler.name.replace(/^controller /, ""))));
  return client.controllers.filter((one) => names.has(one.name));
}

/** How far handlers are, each name once. @param {InformerFacts} informer @returns {Map<string, number>} */
export function handlersOf({ handlers }) {
  /** @type {Map<string, number>} */
  const behind = new Map();
  for (const one of handlers) behind.set(one.name, (behind.get(one.name) ?? 0) + one.behind);
  return behind;
}

/** How long a change took from stop to stop, in milliseconds. @param {ChangeFacts} change */
export function legsOf({ committedAt, ingestedAt, deliveredAt }) {
  const [committed, ingested, delivered] = [committedAt, ingestedAt, deliveredAt].map((time) => (time ? exactTime(time) : null));
  return {
    ingest: committed !== null && ingested !== null ? Math.max(0, ingested - committed) : null,
    delivery: ingested !== null && delivered !== null ? Math.max(0, delivered - ingested) : null,
  };
}

/** @param {number | null} milliseconds @returns {Tone} */
export function legTone(milliseconds) {
  if (milliseconds === null || milliseconds < SLOW_MS) return "good";
  return milliseconds < STUCK_MS ? "wait" : "bad";
}

/** @param {CacheFacts} cache @param {number} revision @returns {Tone} */
export function cacheTone(cache, revision) {
  if (cache.ready === false) return "bad";
  return revision - cache.revision > SLOW_EVENTS ? "bad" : revision > cache.revision ? "wait" : "good";
}

/** @param {WatcherFacts} watcher @returns {Tone} */
export function watcherTone({ phase, behindEvents, bufferedBytes }) {
  if (phase.startsWith("ending") || bufferedBytes >= STUCK_BYTES) return "bad";
  return behindEvents > 0 || bufferedBytes >= SLOW_BYTES || !phase.startsWith("live") ? "wait" : "good";
}

/** @param {ClientFacts} client @param {number} now @returns {boolean} */
export function isSilent(client, now) {
  return now - Date.parse(client.updatedAt) > SILENT_CLIENT_MS;
}

/** @param {number} length @returns {Tone} */
export function queueTone(length) {
  return length > SLOW_EVENTS ? "bad" : length > 0 ? "wait" : "good";
}
