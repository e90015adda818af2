// @ts-check
/** The page's start: a session or the way to one, then the view that the address names. */

import { forgetAccess } from "./api/access.js";
import { readKinds } from "./api/discovery.js";
import { messageOf, readSession, whenSessionEnds } from "./api/http.js";
import { placeOf } from "./api/paths.js";
import { h, replace } from "./dom/element.js";
import { listenToKeys } from "./dom/keyboard.js";
import { showObject } from "./object/page.js";
import { showEvents } from "./views/events.js";
import { showKindTable } from "./views/kind_table.js";
import { showLogin } from "./views/login.js";
import { showNodes } from "./views/nodes.js";
import { showRoute } from "./views/route.js";
import { whenNamespaceChanges } from "./views/scope.js";
import { applyTheme, showShell } from "./views/shell.js";
import { showTimeTravel } from "./views/time_travel.js";
import { showWorkloads } from "./views/workloads.js";

/** @typedef {import("./types.js").Visit} Visit */

/** @type {Record<string, (visit: Visit) => Promise<void> | void>} */
const VIEWS = {
  workloads: showWorkloads,
  nodes: showNodes,
  events: showEvents,
  kinds: showKindTable,
  object: showObject,
  route: showRoute,
  time: showTimeTravel,
};

const app = /** @type {HTMLElement} */ (document.getElementById("app"));
let inside = new AbortController();
let visit = new AbortController();
/** @type {HTMLElement} */
let view = app;

function enter() {
  inside = new AbortController();
  view = showShell(app, inside.signal);
  whenNamespaceChanges(inside.signal, () => void go());
  void go();
}

async function go() {
  visit.abort();
  visit = new AbortController();
  const { signal } = visit;
  const place = placeOf(location.hash || "#/workloads");
  const root = h("div", { class: `visit visit-${place.path[0]}` });
  replace(view, root);
  document.title = `${place.path.slice(-1)[0] || "workloads"} · proreus`;
  try {
    await readKinds();
    if (signal.aborted) return;
    await (VIEWS[place.path[0]] ?? showWorkloads)({ root, place, signal });
  } catch (error) {
    if (!signal.aborted) replace(root, h("p", { class: "empty", role: "alert" }, messageOf(error)));
  }
}

function leave() {
  visit.abort();
  inside.abort();
  forgetAccess();
  showLogin(app, enter, "The session has ended; please log in again.");
}

function goUp() {
  const { path } = placeOf(location.hash);
  if (path[0] === "object") location.hash = `#/kinds/${path.slice(1, 4).map(encodeURIComponent).join("/")}`;
}

async function start() {
  applyTheme();
  listenToKeys(goUp);
  whenSessionEnds(leave);
  window.addEventListener("hashchange", () => !inside.signal.aborted && void go());
  try {
    if (await readSession()) enter();
    else showLogin(app, enter);
  } catch (error) {
    replace(app, h("p", { class: "empty", role: "alert" }, messageOf(error)));
  }
}

void start();
