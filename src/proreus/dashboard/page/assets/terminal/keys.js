// @ts-check
/** What a key sends to a program. */

const NAMED = /** @type {Record<string, string>} */ ({
  Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b", Delete: "\x1b[3~", Insert: "\x1b[2~",
  PageUp: "\x1b[5~", PageDown: "\x1b[6~",
  F1: "\x1bOP", F2: "\x1bOQ", F3: "\x1bOR", F4: "\x1bOS", F5: "\x1b[15~", F6: "\x1b[17~", F7: "\x1b[18~",
  F8: "\x1b[19~", F9: "\x1b[20~", F10: "\x1b[21~", F11: "\x1b[23~", F12: "\x1b[24~",
});
const ARROWS = /** @type {Record<string, string>} */ ({ ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" });

/**
 * "" if the browser should have the key.
 * @param {{key: string, ctrlKey: boolean, altKey: boolean, metaKey: boolean, shiftKey: boolean}} event
 * @param {boolean} hasAppKeys
 */
export function bytesOf({ key, ctrlKey, altKey, metaKey, shiftKey }, hasAppKeys) {
  if (metaKey || (ctrlKey && shiftKey)) return "";
  const alt = altKey ? "\x1b" : "";
  if (key in ARROWS) {
    if (ctrlKey) return `\x1b[1;5${ARROWS[key]}`;
    return `${alt}\x1b${hasAppKeys ? "O" : "["}${ARROWS[key]}`;
  }
  if (key === "Tab" && shiftKey) return "\x1b[Z";
  if (key in NAMED) return alt + NAMED[key];
  if ([...key].length !== 1) return "";
  if (!ctrlKey) return alt + key;
  if (key === " ") return "\0";
  const code = key.toUpperCase().charCodeAt(0);
  return code >= 64 && code <= 95 ? alt + String.fromCharCode(code - 64) : "";
}
