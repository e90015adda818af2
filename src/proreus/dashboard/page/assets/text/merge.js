// @ts-check
/** Two people's changes of one object put together, where they do not contradict each other. */

/** @typedef {{value: any, conflicts: string[]}} Merged Where both changed one thing, mine stays and its path is named. */

/** @param {any} base @param {any} mine @param {any} theirs @returns {Merged} */
export function merge(base, mine, theirs) {
  /** @type {string[]} */
  const conflicts = [];
  return { value: merged(base, mine, theirs, "", conflicts), conflicts };
}

/** @param {any} base @param {any} mine @param {any} theirs @param {string} path @param {string[]} conflicts @returns {any} */
function merged(base, mine, theirs, path, conflicts) {
  if (isSame(mine, base) || isSame(mine, theirs)) return theirs;
  if (isSame(theirs, base)) return mine;
  if (isMap(mine) && isMap(theirs)) return mergedMaps(isMap(base) ? base : {}, mine, theirs, path, conflicts);
  const lists = [base, mine, theirs].map(byName);
  if (lists[0] && lists[1] && lists[2]) {
    return Object.values(mergedMaps(lists[0], lists[1], lists[2], path, conflicts));
  }
  conflicts.push(path);
  return mine;
}

/** @param {any} base @param {any} mine @param {any} theirs @param {string} path @param {string[]} conflicts */
function mergedMaps(base, mine, theirs, path, conflicts) {
  /** @type {Record<string, any>} */
  const whole = {};
  for (const key of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const value = merged(base[key], mine[key], theirs[key], path ? `${path}.${key}` : key, conflicts);
    if (value !== undefined) whole[key] = value;
  }
  return whole;
}

/** A list of named things as a map. @param {any} list @returns {Record<string, any> | null} */
function byName(list) {
  if (!Array.isArray(list) || list.some((one) => !isMap(one) || typeof one.name !== "string")) return null;
  const map = Object.fromEntries(list.map((one) => [one.name, one]));
  return Object.keys(map).length === list.length ? map : null;
}

/** @param {any} value */
function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {any} one @param {any} other @returns {boolean} */
export function isSame(one, other) {
  if (one === other) return true;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => isSame(one[key], other[key]));
}
