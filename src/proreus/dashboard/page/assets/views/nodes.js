// @ts-check
/** Nodes and what runs on them. A pod is a square; 10,000 of them are one canvas per node. */

import { followLive } from "../api/connection.js";
import { findKind, kindOf } from "../api/discovery.js";
import { kindHref, objectHref } from "../api/paths.js";
import { h, replace, setText } from "../dom/element.js";
import { every, perFrame } from "../dom/frames.js";
import { age, bytes, counted, quantity, tone } from "../text/format.js";
import { readMember } from "./ownership.js";

/** @typedef {{uid: string, name: string, created: string, state: string, version: string, taints: number, cpu: number, memory: number, pods: number}} NodeFacts */
/** @typedef {{uid: string, name: string, namespace: string, status: string, node: string, cpu: number, memory: number}} PodFacts */

const SQUARE_PX = 12;
const POD = { group: "", resource: "pods", kind: "Pod" };

/** @param {any} node @returns {NodeFacts} */
function readNode({ metadata, spec = {}, status = {} }) {
  const ready = (status.conditions ?? []).find((/** @type {any} */ one) => one.type === "Ready");
  const room = status.allocatable ?? {};
  return {
    uid: metadata.uid, name: metadata.name, created: metadata.creationTimestamp,
    state: `${ready?.status === "True" ? "Ready" : "NotReady"}${spec.unschedulable ? ",SchedulingDisabled" : ""}`,
    version: status.nodeInfo?.kubeletVersion ?? "",
    taints: (spec.taints ?? []).length,
    cpu: quantity(room.cpu), memory: quantity(room.memory), pods: quantity(room.pods),
  };
}

/** @param {any} pod @returns {PodFacts} */
function readPod(pod) {
  const { uid, name, namespace, status, info } = readMember(POD, pod);
  let cpu = 0;
  let memory = 0;
  for (const one of pod.spec?.containers ?? []) {
    cpu += quantity(one.resources?.requests?.cpu);
    memory += quantity(one.resources?.requests?.memory);
  }
  return { uid, name, namespace, status, node: info, cpu, memory };
}

/** @param {import("../types.js").Visit} visit */
export async function showNodes({ root, signal }) {
  /** @type {Map<string, NodeFacts>} */
  const nodes = new Map();
  /** @type {Map<string, PodFacts>} */
  const pods = new Map();
  /** @type {Map<string, NodeCard>} */
  const cards = new Map();
  const grid = h("div", { class: "cards" });
  const count = h("span", { class: "faint" });
  const podKind = await findKind("", "pods");
  if (!podKind) return;

  const draw = perFrame(() => {
    const byNode = Map.groupBy(pods.values(), (pod) => pod.node);
    for (const [uid, card] of cards) if (!nodes.has(uid)) (card.element.remove(), cards.delete(uid));
    for (const node of [...nodes.values()].sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }))) {
      const card = cards.get(node.uid) ?? new NodeCard(node.name);
      cards.set(node.uid, card);
      card.draw(node, byNode.get(node.name) ?? []);
      if (card.element.parentElement !== grid) grid.append(card.element);
    }
    const waiting = byNode.get("")?.length ?? 0;
    setText(count, `${counted(nodes.size, "node")} · ${counted(pods.size, "pod")}${waiting ? ` · ${waiting} not placed yet` : ""}`);
  }, signal);

  const problem = h("p", { class: "empty", role: "alert", hidden: true });
  const refused = (/** @type {string} */ why) => {
    problem.hidden = false;
    setText(problem, why);
  };
  replace(root, h("header", { class: "bar" }, h("h1", {}, "Nodes"), count), problem, grid);
  keep("/api/v1/nodes", readNode, nodes, draw, refused, signal);
  keep("/api/v1/pods", readPod, pods, draw, refused, signal);
  every(5_000, signal, draw);
}

/**
 * @template {{uid: string}} T
 * @param {string} path @param {(object: any) => T} read @param {Map<string, T>} into @param {() => void} draw
 * @param {(why: string) => void} refused @param {AbortSignal} signal
 */
function keep(path, read, into, draw, refused, signal) {
  void followLive({
    path, read, signal,
    replace: (items) => {
      into.clear();
      for (const item of items) into.set(item.uid, item);
      draw();
    },
    change: (type, item) => {
      if (type === "DELETED") into.delete(item.uid);
      else into.set(item.uid, item);
      draw();
    },
    state: (state) => state.phase === "refused" && refused(state.why),
  });
}

class NodeCard {
  /** @param {string} name */
  constructor(name) {
    /** @type {PodFacts[]} */
    this.pods = [];
    this.state = h("span", { class: "cell" });
    this.facts = h("span", { class: "faint" });
    this.meters = h("div", { class: "meters" });
    this.canvas = h("canvas", { class: "pods", role: "img" });
    this.tip = h("div", { class: "tip faint" });
    const nodeKind = kindOf("", "nodes");
    const podKind = kindOf("", "pods");
    const title = nodeKind ? h("a", { href: objectHref(nodeKind, "", name) }, name) : h("span", {}, name);
    const all = podKind && h("a", { href: kindHref(podKind, { fields: `spec.nodeName=${name}` }) }, "List its pods");
    this.element = h("section", { class: "card" }, h("header", {}, h("h2", {}, title), this.state), this.facts, this.meters, this.canvas,
      h("footer", {}, this.tip, all));
    this.canvas.addEventListener("mousemove", (event) => {
      const pod = this.#at(event);
      setText(this.tip, pod ? `${pod.namespace}/${pod.name} · ${pod.status}` : "");
      this.canvas.classList.toggle("hit", pod !== undefined);
    });
    this.canvas.addEventListener("click", (event) => {
      const pod = this.#at(event);
      if (pod && podKind) location.hash = objectHref(podKind, pod.namespace, pod.name);
    });
  }

  get #perLine() {
    return Math.max(1, Math.floor(this.canvas.clientWidth / SQUARE_PX));
  }

  /** @param {MouseEvent} event */
  #at({ offsetX, offsetY }) {
    return this.pods[Math.floor(offsetY / SQUARE_PX) * this.#perLine + Math.floor(offsetX / SQUARE_PX)];
  }

  /** @param {NodeFacts} node @param {PodFacts[]} pods */
  draw(node, pods) {
    this.pods = pods.sort((one, other) => (one.namespace + one.name < other.namespace + other.name ? -1 : 1));
    setText(this.state, node.state);
    this.state.dataset.tone = tone(node.state);
    const taints = node.taints ? ` · ${counted(node.taints, "taint")}` : "";
    setText(this.facts, `${node.version} · ${age(node.created)}${taints}`);
    const sum = (/** @type {"cpu" | "memory"} */ what) => pods.reduce((total, pod) => total + pod[what], 0);
    replace(this.meters,
      meter("Pods", pods.length, node.pods, `${pods.length} of ${node.pods}`),
      meter("CPU", sum("cpu"), node.cpu, `${sum("cpu").toFixed(1)} of ${node.cpu} requested`),
      meter("Memory", sum("memory"), node.memory, `${bytes(sum("memory"))} of ${bytes(node.memory)} requested`));
    this.canvas.setAttribute("aria-label", `${counted(pods.length, "pod")} on ${node.name}`);
    this.#paint();
  }

  #paint() {
    const { canvas, pods } = this;
    const perLine = this.#perLine;
    const ratio = window.devicePixelRatio;
    const height = Math.max(1, Math.ceil(pods.length / perLine)) * SQUARE_PX;
    canvas.style.height = `${height}px`;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = height * ratio;
    const brush = canvas.getContext("2d");
    if (!brush) return;
    const style = getComputedStyle(canvas);
    const colors = { good: style.getPropertyValue("--good"), bad: style.getPropertyValue("--bad"), wait: style.getPropertyValue("--wait"), "": style.getPropertyValue("--faint") };
    const probe = document.createElement("span");
    canvas.after(probe);
    for (const [name, value] of Object.entries(colors)) {
      probe.style.color = value;
      colors[/** @type {keyof colors} */ (name)] = getComputedStyle(probe).color;
    }
    probe.remove();
    brush.scale(ratio, ratio);
    pods.forEach((pod, index) => {
      brush.fillStyle = colors[tone(pod.status)];
      brush.fillRect((index % perLine) * SQUARE_PX, Math.floor(index / perLine) * SQUARE_PX, SQUARE_PX - 2, SQUARE_PX - 2);
    });
  }
}

/** @param {string} label @param {number} used @param {number} room @param {string} text */
function meter(label, used, room, text) {
  const bar = h("span", { class: "fill" });
  const share = room ? Math.min(1, used / room) : 0;
  bar.style.width = `${share * 100}%`;
  bar.dataset.tone = share > 0.9 ? "bad" : share > 0.7 ? "wait" : "good";
  return h("div", { class: "meter" }, h("span", {}, label), h("span", { class: "track" }, bar), h("span", { class: "faint" }, text));
}
