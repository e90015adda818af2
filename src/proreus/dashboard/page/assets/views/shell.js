// @ts-check
/** What surrounds every view: where one can go, the namespace, the connection, the user. */

import { listable, may } from "../api/access.js";
import { connectionState, followLive, whenConnectionChanges } from "../api/connection.js";
import { isListed, kindOf, readKinds } from "../api/discovery.js";
import { retryNow } from "../api/follow.js";
import { currentSession, logOut } from "../api/http.js";
import { kindHref } from "../api/paths.js";
import { notify } from "../dom/dialog.js";
import { h, replace } from "../dom/element.js";
import { every } from "../dom/frames.js";
import { addShortcuts } from "../dom/keyboard.js";
import { showPalette } from "../dom/palette.js";
import { chooseNamespace, currentNamespace, whenNamespaceChanges } from "./scope.js";

/** @typedef {import("../types.js").Kind} Kind */

/** @type {{href: string, label: string, keys: string, path?: string}[]} A view with a path is for those who may get it. */
const VIEWS = [
  { href: "#/workloads", label: "Workloads", keys: "g w" },
  { href: "#/nodes", label: "Nodes", keys: "g n" },
  { href: "#/events", label: "Events", keys: "g e" },
  { href: "#/route", label: "Route of an event", keys: "g r", path: "/debug/listwatch/route" },
  { href: "#/time", label: "Time travel", keys: "g t", path: "/debug/history" },
];
// Listed first, as these are what most people look for.
const USUAL = ["pods", "deployments", "statefulsets", "daemonsets", "jobs", "services", "configmaps", "secrets", "namespaces"];

/** @type {Kind[]} */
let offered = [];
let hasShortcuts = false;

/**
 * @param {HTMLElement} app @param {AbortSignal} signal
 * @returns {HTMLElement} where views go
 */
export function showShell(app, signal) {
  const kinds = h("div", { class: "kinds" });
  const search = h("input", {
    type: "search", placeholder: "Kinds", "aria-label": "Find a kind", oninput: () => drawKinds(kinds, search.value),
  });
  const view = h("main", { class: "view" });
  const banner = h("div", { class: "banner", role: "alert", hidden: true });
  replace(app,
    h("div", { class: "shell" },
      h("nav", { class: "side", "aria-label": "Views" },
        h("a", { class: "brand", href: "#/workloads" }, h("span", { class: "mark" }), "proreus"),
        ...VIEWS.map(viewLink),
        search, kinds),
      h("div", { class: "main" },
        h("header", { class: "top" }, namespacePicker(signal), h("span", { class: "grow" }),
          h("button", { class: "quiet", onclick: openPalette }, "Go to ", h("kbd", {}, "Ctrl K")),
          connectionPill(banner, signal), userMenu()),
        banner, view)));
  const readOffered = async () => {
    const all = (await readKinds()).filter(isListed);
    offered = await listable(all, currentNamespace()).catch(() => all);
    drawKinds(kinds, search.value);
  };
  void readOffered();
  whenNamespaceChanges(signal, () => void readOffered());
  every(30_000, signal, () => void readOffered());
  const markPlace = () => {
    for (const link of app.querySelectorAll("nav a")) {
      const target = link.getAttribute("href") ?? "";
      const isHere = location.hash.split("?", 1)[0] === target;
      link.toggleAttribute("aria-current", isHere);
    }
  };
  window.addEventListener("hashchange", markPlace, { signal });
  new MutationObserver(markPlace).observe(kinds, { childList: true });
  markPlace();
  if (!hasShortcuts) {
    addShortcuts([
      { keys: "Ctrl K", does: "Go to a kind or a view", run: openPalette },
      { keys: ":", does: "The same", run: openPalette },
      ...VIEWS.map(({ href, label, keys }) => ({ keys, does: label, run: () => (location.hash = href) })),
    ]);
    hasShortcuts = true;
  }
  return view;
}

/** @param {{href: string, label: string, path?: string}} view */
function viewLink({ href, label, path }) {
  const link = h("a", { class: "place", href, hidden: path !== undefined }, label);
  if (path) void may({ verb: "get", path }).then((isAllowed) => (link.hidden = !isAllowed));
  return link;
}

/** @param {HTMLElement} place @param {string} wanted */
function drawKinds(place, wanted) {
  const link = (/** @type {Kind} */ kind) => h("a", { class: "place", href: kindHref(kind) }, kind.resource);
  const words = wanted.toLowerCase();
  const matching = offered.filter((kind) => `${kind.resource} ${kind.kind} ${kind.group}`.toLowerCase().includes(words));
  const usual = USUAL.flatMap((name) => matching.filter((kind) => kind.resource === name && ["", "apps", "batch"].includes(kind.group)));
  /** @type {Map<string, Kind[]>} */
  const groups = new Map();
  for (const kind of matching) {
    if (usual.includes(kind)) continue;
    groups.set(kind.group, [...(groups.get(kind.group) ?? []), kind]);
  }
  const isSearch = words !== "";
  replace(place, ...usual.map(link), ...[...groups].map(([group, members]) =>
    h("details", { open: isSearch || sessionStorage.getItem(`open:${group}`) === "1", ontoggle: (/** @type {any} */ event) =>
      !isSearch && sessionStorage.setItem(`open:${group}`, event.target.open ? "1" : "") },
    h("summary", {}, group || "core"), ...members.map(link))));
}

function openPalette() {
  showPalette([
    ...VIEWS.map(({ href, label }) => ({ label, hint: "view", run: () => void (location.hash = href) })),
    ...offered.map((kind) => ({
      label: kind.resource,
      hint: [kind.group || "core", ...kind.shortNames].join(" "),
      run: () => void (location.hash = kindHref(kind)),
    })),
  ]);
}

/** @param {AbortSignal} signal */
function namespacePicker(signal) {
  const field = h("input", {
    type: "text", list: "namespaces", placeholder: "All namespaces", "aria-label": "Namespace", value: currentNamespace(),
    autocomplete: "off", spellcheck: "false", onchange: () => chooseNamespace(field.value.trim()), onfocus: () => field.select(),
  });
  const choices = h("datalist", { id: "namespaces" });
  /** @type {Set<string>} */
  let names = new Set();
  const draw = () => replace(choices, ...[...names].sort().map((name) => h("option", { value: name })));
  const start = async () => {
    await readKinds();
    const kind = kindOf("", "namespaces");
    if (!kind) return;
    await followLive({
      path: "/api/v1/namespaces",
      read: (item) => /** @type {string} */ (item.metadata.name),
      replace: (items) => ((names = new Set(items)), draw()),
      change: (type, name) => {
        if (type === "DELETED") names.delete(name);
        else names.add(name);
        draw();
      },
      // Who may not list namespaces types the name.
      state: () => undefined,
      signal,
    });
  };
  void start();
  return h("label", { class: "namespace" }, h("span", { class: "faint" }, "Namespace"), field, choices);
}

/** @param {HTMLElement} banner @param {AbortSignal} signal */
function connectionPill(banner, signal) {
  const pill = h("span", { class: "pill", role: "status" });
  let wasLost = false;
  const draw = () => {
    const state = connectionState();
    pill.dataset.phase = state.phase;
    pill.textContent = { listing: "Loading", live: "Live", lost: "Offline", refused: "Live" }[state.phase];
    banner.hidden = state.phase !== "lost";
    if (state.phase === "lost") {
      wasLost = true;
      const seconds = Math.max(0, Math.ceil((state.retryAt - Date.now()) / 1000));
      replace(banner, `${state.why} What you see is what was last received. `,
        seconds ? `Next try in ${seconds} s. ` : "Trying again… ", h("button", { class: "quiet", onclick: retryNow }, "Try now"));
    } else if (state.phase === "live" && wasLost) {
      wasLost = false;
      notify("Connected again; everything that happened meanwhile has been caught up.");
    }
  };
  whenConnectionChanges(signal, draw);
  every(1_000, signal, draw);
  draw();
  return pill;
}

function userMenu() {
  const session = currentSession();
  const theme = h("button", { class: "quiet", title: "Light or dark", "aria-label": "Light or dark", onclick: toggleTheme }, "◐");
  return h("span", { class: "user" }, theme,
    h("span", { class: "who", title: (session?.groups ?? []).join(", ") }, session?.username ?? ""),
    h("button", { class: "quiet", onclick: () => void logOut() }, "Log out"));
}

const THEME = "proreus.theme";

export function applyTheme() {
  const chosen = localStorage.getItem(THEME);
  if (chosen) document.documentElement.dataset.theme = chosen;
}

function toggleTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  localStorage.setItem(THEME, isDark ? "light" : "dark");
  applyTheme();
}
