// @ts-check
/** How times, states and numbers are written. */

/** As kubectl writes ages. @param {string | number} time @param {number} [now] */
export function age(time, now = Date.now()) {
  const at = typeof time === "number" ? time : Date.parse(time);
  if (Number.isNaN(at)) return "";
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

const GOOD = new Set(["Running", "Ready", "Active", "Bound", "Available", "Complete", "Completed", "Succeeded", "True", "Established", "Approved,Issued"]);
const BAD = new Set(["Failed", "Error", "NotReady", "Evicted", "Lost", "Warning", "Unknown", "OOMKilled", "DeadlineExceeded"]);
const BAD_ENDS = /(BackOff|Error|Err\w*|Failed|OutOf\w+|Unschedulable)$/;

/** @param {string} state @returns {"good" | "bad" | "wait" | ""} */
export function tone(state) {
  const first = state.split(",", 1)[0];
  if (GOOD.has(first)) return "good";
  if (BAD.has(first) || BAD_ENDS.test(first)) return "bad";
  if (/^(Pending|Terminating|ContainerCreating|PodInitializing|Init:.*|Progressing|Released|Suspended)$/.test(first)) return "wait";
  return "";
}

const UNITS = /** @type {Record<string, number>} */ ({
  "": 1, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40,
});

/** Kubernetes' quantity as a number. @param {string | number | undefined} text */
export function quantity(text) {
  const match = /^([0-9.]+(?:e[0-9]+)?)([A-Za-z]*)$/.exec(String(text ?? "0"));
  return match ? Number(match[1]) * (UNITS[match[2]] ?? 1) : 0;
}

/** @param {number} bytes */
export function bytes(bytes) {
  if (bytes >= 2 ** 30) return `${(bytes / 2 ** 30).toFixed(1)} Gi`;
  if (bytes >= 2 ** 20) return `${(bytes / 2 ** 20).toFixed(0)} Mi`;
  return bytes >= 1024 ? `${(bytes / 1024).toFixed(0)} Ki` : `${bytes}`;
}

/** @param {number} milliseconds */
export function duration(milliseconds) {
  if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Milliseconds since 1970, with the microseconds that Date drops. @param {string} time RFC 3339 */
export function exactTime(time) {
  const micros = /\.(\d{1,6})/.exec(time)?.[1] ?? "";
  return Math.floor(Date.parse(time) / 1000) * 1000 + Number(micros.padEnd(6, "0")) / 1000;
}
