// @ts-check
/** A shell in a container: exec over a WebSocket, with a terminal of our own. */

import { socketUrl } from "../api/http.js";
import { h, replace, setText } from "../dom/element.js";
import { perFrame, settled } from "../dom/frames.js";
import { bytesOf } from "../terminal/keys.js";
import { Painter } from "../terminal/paint.js";
import { Parser } from "../terminal/parser.js";
import { Screen } from "../terminal/screen.js";

const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const CHANNEL = { input: 0, output: 1, errors: 2, status: 3, resize: 4 };
// The first of these that is there.
const SHELLS = ["sh", "-c", "command -v bash >/dev/null && exec bash || exec sh"];

/** @param {HTMLElement} panel @param {import("./subject.js").Subject} subject @param {AbortSignal} signal */
export function showTerminal(panel, subject, signal) {
  const container = h("select", { "aria-label": "Container" });
  const command = h("input", { type: "text", "aria-label": "Command", placeholder: "a shell", spellcheck: "false" });
  const said = h("span", { class: "faint", role: "status" });
  const place = h("div", { class: "terminal", tabindex: 0, "data-keys": "own", role: "application", "aria-label": "Terminal" });
  let running = new AbortController();
  const connect = () => {
    running.abort();
    running = new AbortController();
    const words = command.value.trim() ? command.value.trim().split(/\s+/) : SHELLS;
    const own = AbortSignal.any([signal, running.signal]);
    const url = socketUrl(subject.path("exec"), { container: container.value, stdin: "true", stdout: "true", tty: "true" });
    for (const word of words) url.searchParams.append("command", word);
    openTerminal(place, url, own, (text) => setText(said, text));
    place.focus();
  };
  replace(panel,
    h("div", { class: "tools" }, container, command, h("button", { class: "primary", onclick: connect }, "Connect"), said, h("span", { class: "grow" }),
      h("span", { class: "faint" }, "Paste: Ctrl Shift V")),
    place);
  subject.onChange(signal, () => {
    const names = (subject.object?.spec?.containers ?? []).map((/** @type {any} */ one) => one.name);
    if (container.options.length === names.length) return;
    replace(container, ...names.map((/** @type {string} */ name) => h("option", { value: name }, name)));
    connect();
  });
}

/** @param {HTMLElement} place @param {URL} url @param {AbortSignal} signal @param {(text: string) => void} say */
function openTerminal(place, url, signal, say) {
  const lines = h("div", {});
  replace(place, lines);
  const { columns, rows } = sizeOf(place);
  const screen = new Screen(columns, rows);
  const painter = new Painter(lines);
  const paint = perFrame(() => {
    painter.paint(screen);
    place.scrollTop = place.scrollHeight;
  }, signal);
  const socket = new WebSocket(url, PROTOCOLS);
  socket.binaryType = "arraybuffer";
  const encoder = new TextEncoder();
  const send = (/** @type {number} */ channel, /** @type {string} */ text) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const bytes = encoder.encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    socket.send(message);
  };
  const parser = new Parser(screen, (answer) => send(CHANNEL.input, answer));
  const decoder = new TextDecoder();
  const resize = () => {
    const size = sizeOf(place);
    screen.resize(size.columns, size.rows);
    send(CHANNEL.resize, JSON.stringify({ Width: size.columns, Height: size.rows }));
    paint();
  };

  say("Connecting…");
  socket.onopen = () => {
    say("Connected");
    resize();
  };
  socket.onmessage = ({ data }) => {
    const bytes = new Uint8Array(data);
    const rest = bytes.subarray(1);
    if (bytes[0] === CHANNEL.output || bytes[0] === CHANNEL.errors) parser.write(decoder.decode(rest, { stream: true }));
    else if (bytes[0] === CHANNEL.status) say(endOf(new TextDecoder().decode(rest)));
    paint();
  };
  let ended = "";
  const endOf = (/** @type {string} */ text) => {
    const status = JSON.parse(text);
    ended = status.status === "Success" ? "The command has ended." : status.message ?? "The command failed.";
    return ended;
  };
  socket.onclose = () => !signal.aborted && say(ended || "The connection was closed.");
  signal.addEventListener("abort", () => socket.close());
  place.addEventListener("keydown", (event) => {
    const bytes = bytesOf(event, screen.hasAppKeys);
    if (!bytes) return;
    event.preventDefault();
    event.stopPropagation();
    send(CHANNEL.input, bytes);
  }, { signal });
  place.addEventListener("paste", (event) => {
    const text = (event.clipboardData?.getData("text") ?? "").replace(/\r?\n/g, "\r");
    send(CHANNEL.input, screen.brackets ? `\x1b[200~${text}\x1b[201~` : text);
    event.preventDefault();
  }, { signal });
  const resized = new ResizeObserver(settled(100, resize));
  resized.observe(place);
  signal.addEventListener("abort", () => resized.disconnect());
}

/** @param {HTMLElement} place */
function sizeOf(place) {
  const probe = h("span", { class: "screen-line" }, "M".repeat(20));
  place.append(probe);
  const width = probe.getBoundingClientRect().width / 20;
  probe.remove();
  const style = getComputedStyle(place);
  const inside = place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const height = place.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  return { columns: Math.max(20, Math.floor(inside / width)), rows: Math.max(5, Math.floor(height / 17)) };
}
