// @ts-check
/**
 * Values as YAML, line by line, each line with the path of what it says. The server reads YAML
 * itself, so nothing here parses it.
 */

/** @typedef {{text: string, path: (string | number)[]}} YamlLine */

const FIRST = ["apiVersion", "kind", "metadata", "name", "namespace"];
const LAST = ["status"];
const PLAIN = /^[A-Za-z_/.$][A-Za-z0-9_/.$%+()@,=-]*(?: [A-Za-z0-9_/.$%+()@=-]+)*$/;
// What YAML 1.1 readers take for something else than text.
const MEANING = /^(?:y|n|yes|no|on|off|true|false|null|none|~|\.inf|\.nan|0x[0-9a-f]+|[-+.]?[0-9][0-9_.,:eE+-]*)$/i;
// eslint-disable-next-line no-control-regex
const ESCAPED = /[\u007f-\u009f\u00ad\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** @param {unknown} value */
export function toYaml(value) {
  return `${yamlLines(value).map(({ text }) => text).join("\n")}\n`;
}

/** @param {unknown} value @returns {YamlLine[]} */
export function yamlLines(value) {
  /** @type {YamlLine[]} */
  const lines = [];
  if (isEmptyOrScalar(value)) lines.push({ text: scalar(value), path: [] });
  else write(value, "", [], lines);
  return lines;
}

/** @param {any} value @param {string} indent @param {(string | number)[]} path @param {YamlLine[]} lines */
function write(value, indent, path, lines) {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      const at = [...path, index];
      if (isEmptyOrScalar(item)) put(`${indent}- `, item, indent, at, lines);
      else {
        const from = lines.length;
        write(item, `${indent}  `, at, lines);
        lines[from].text = `${indent}- ${lines[from].text.slice(indent.length + 2)}`;
      }
    });
    return;
  }
  for (const key of Object.keys(value).sort(byKey)) {
    const at = [...path, key];
    const head = `${indent}${scalar(key)}:`;
    const item = value[key];
    if (item === undefined) continue;
    if (isEmptyOrScalar(item)) put(`${head} `, item, indent, at, lines);
    else {
      lines.push({ text: head, path: at });
      // Lists are not indented, as kubectl writes them.
      write(item, Array.isArray(item) ? indent : `${indent}  `, at, lines);
    }
  }
}

/** @param {string} head @param {unknown} value @param {string} indent @param {(string | number)[]} path @param {YamlLine[]} lines */
function put(head, value, indent, path, lines) {
  if (typeof value === "string" && isBlock(value)) {
    const chomp = value.endsWith("\n") ? "" : "-";
    lines.push({ text: `${head}|${chomp}`, path });
    const inside = head.trimStart().startsWith("- ") ? `${indent}    ` : `${indent}  `;
    for (const line of value.replace(/\n$/, "").split("\n")) lines.push({ text: line ? inside + line : "", path });
  } else lines.push({ text: head + scalar(value), path });
}

/** Text of several lines that can stand as it is. @param {string} text */
function isBlock(text) {
  return /[^\n]\n/.test(text) && !/^[\s\n]|\n\n$|[^\n\S]\n|[^\n\S]$|\t|\r/.test(text) && !/[^\n\x20-\x7e\u00a0-\ud7ff]/.test(text) && !text.match(ESCAPED);
}

/** @param {unknown} value */
function isEmptyOrScalar(value) {
  return value === null || typeof value !== "object" || Object.keys(value).length === 0;
}

/** @param {unknown} value @returns {string} */
function scalar(value) {
  if (typeof value !== "string") return value === undefined ? "null" : JSON.stringify(value);
  if (PLAIN.test(value) && !MEANING.test(value) && !value.endsWith(" ")) return value;
  return JSON.stringify(value).replace(ESCAPED, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @param {string} one @param {string} other */
function byKey(one, other) {
  const rank = (/** @type {string} */ key) => (FIRST.includes(key) ? FIRST.indexOf(key) - FIRST.length : LAST.includes(key) ? 1 : 0);
  return rank(one) - rank(other) || (one < other ? -1 : 1);
}
