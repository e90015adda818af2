// @ts-check
/** A container's log, followed. Lines beyond a bound are forgotten, the oldest first. */

import { messageOf, request } from "../api/http.js";
import { eachLine } from "../api/watch_stream.js";
import { h, replace, setText } from "../dom/element.js";
import { perFrame } from "../dom/frames.js";
import { VirtualList } from "../dom/virtual_list.js";
import { matcher } from "../text/ordered_rows.js";

const LINES_MAX = 20_000;
const LINE_PX = 18;
// Colours and cursor movements are for terminals.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;

/** @param {HTMLElement} panel @param {import("./subject.js").Subject} subject @param {AbortSignal} signal */
export function showLogs(panel, subject, signal) {
  /** @type {{id: number, text: string}[]} */
  let lines = [];
  let next = 0;
  let longest = 0;
  let isAtEnd = true;
  const list = new VirtualList({
    label: "Log", signal, rowPx: LINE_PX,
    identity: (/** @type {{id: number, text: string}} */ line) => String(line.id),
    make: () => h("div", {}),
    fill: (row, line) => setText(row, line.text),
  });
  list.element.classList.add("logs");
  list.element.addEventListener("scroll", () => {
    const { scrollTop, clientHeight, scrollHeight } = list.element;
    isAtEnd = scrollTop + clientHeight >= scrollHeight - 2 * LINE_PX;
  }, { passive: true });
  const said = h("span", { class: "faint" });
  const draw = perFrame(() => {
    if (lines.length > LINES_MAX) lines = lines.slice(-LINES_MAX);
    const matches = matcher(filter.value);
    list.show(filter.value ? lines.filter((line) => matches(line.text)) : lines);
    list.spacer.style.minWidth = `${longest + 6}ch`;
    if (isAtEnd && follow.checked) requestAnimationFrame(() => (list.element.scrollTop = list.element.scrollHeight));
  }, signal);

  let running = new AbortController();
  const start = async () => {
    running.abort();
    running = new AbortController();
    const own = AbortSignal.any([signal, running.signal]);
    lines = [];
    isAtEnd = true;
    setText(said, "");
    draw();
    /** @type {Record<string, string>} */
    const query = { container: container.value, tailLines: "2000" };
    if (follow.checked && !previous.checked) query.follow = "true";
    if (previous.checked) query.previous = "true";
    if (times.checked) query.timestamps = "true";
    try {
      const answer = await request(subject.path("log"), { query, accept: "*/*", signal: own });
      await eachLine(answer, (text) => {
        const plain = text.replace(ESCAPES, "");
        lines.push({ id: next++, text: plain });
        longest = Math.max(longest, plain.length);
        draw();
      });
      if (!own.aborted) setText(said, lines.length ? "The log ends here." : "Nothing has been logged.");
    } catch (error) {
      if (!own.aborted) setText(said, messageOf(error));
    }
  };
  const container = h("select", { "aria-label": "Container", onchange: () => void start() });
  const box = (/** @type {string} */ label, /** @type {boolean} */ checked) => {
    const field = h("input", { type: "checkbox", "aria-label": label, onchange: () => void start() });
    field.checked = checked;
    return field;
  };
  const [follow, times, previous] = [box("Follow", true), box("Timestamps", false), box("Previous", false)];
  const filter = h("input", { type: "search", placeholder: "Filter  /", "aria-label": "Filter", "data-filter": true, oninput: () => draw() });
  replace(panel,
    h("div", { class: "tools" }, container, h("label", {}, follow, "Follow"), h("label", {}, times, "Timestamps"),
      h("label", {}, previous, "Previous run"), h("span", { class: "grow" }), said, filter),
    list.element);

  subject.onChange(signal, () => {
    const pod = subject.object?.spec ?? {};
    const names = [...(pod.containers ?? []), ...(pod.initContainers ?? []), ...(pod.ephemeralContainers ?? [])].map((one) => one.name);
    if (container.options.length === names.length) return;
    replace(container, ...names.map((name) => h("option", { value: name }, name)));
    void start();
  });
}
