// @ts-check
/** What differs between two texts, line by line: the shortest edit (Myers' algorithm). */

/** @typedef {{sign: " " | "+" | "-", text: string}} DiffLine */

// Beyond this many edits the texts have nothing to do with each other.
const EDITS_MAX = 2_000;

/** @param {string[]} old @param {string[]} now @returns {DiffLine[]} */
export function diffLines(old, now) {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const same = (/** @type {string} */ text) => /** @type {DiffLine} */ ({ sign: " ", text });
  return [
    ...old.slice(0, start).map(same),
    ...edits(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
}

/** @param {string[]} old @param {string[]} now @returns {DiffLine[]} */
function edits(old, now) {
  const trace = reach(old, now);
  if (!trace) {
    return [...old.map((text) => /** @type {DiffLine} */ ({ sign: "-", text })), ...now.map((text) => /** @type {DiffLine} */ ({ sign: "+", text }))];
  }
  /** @type {DiffLine[]} */
  const lines = [];
  let x = old.length;
  let y = now.length;
  for (let depth = trace.length - 1; depth >= 0; depth--) {
    const furthest = trace[depth];
    const k = x - y;
    const at = (/** @type {number} */ diagonal) => furthest.get(diagonal) ?? -1;
    const isDown = k === -depth || (k !== depth && at(k - 1) < at(k + 1));
    const fromK = isDown ? k + 1 : k - 1;
    const fromX = depth === 0 ? 0 : at(fromK);
    const fromY = depth === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY) lines.push({ sign: " ", text: old[(x--, --y, x)] });
    if (depth === 0) break;
    lines.push(isDown ? { sign: "+", text: now[fromY] } : { sign: "-", text: old[fromX] });
    x = fromX;
    y = fromY;
  }
  return lines.reverse();
}

/**
 * How far each diagonal was reached before each number of edits.
 * @param {string[]} old @param {string[]} now
 */
function reach(old, now) {
  /** @type {Map<number, number>[]} */
  const trace = [];
  /** @type {Map<number, number>} */
  let furthest = new Map([[1, 0]]);
  const most = Math.min(old.length + now.length, EDITS_MAX);
  for (let depth = 0; depth <= most; depth++) {
    trace.push(new Map(furthest));
    for (let k = -depth; k <= depth; k += 2) {
      const below = furthest.get(k + 1) ?? -1;
      const left = furthest.get(k - 1) ?? -1;
      let x = k === -depth || (k !== depth && left < below) ? below : left + 1;
      let y = x - k;
      while (x < old.length && y < now.length && old[x] === now[y]) (x++, y++);
      furthest.set(k, x);
      if (x >= old.length && y >= now.length) return trace;
    }
  }
  return null;
}

/**
 * With unchanged lines left out but a few around each change.
 * @param {DiffLine[]} lines @param {number} [around]
 * @returns {(DiffLine | {skipped: number})[]}
 */
export function withContext(lines, around = 3) {
  const isNear = lines.map(() => false);
  lines.forEach(({ sign }, index) => {
    if (sign === " ") return;
    for (let near = Math.max(0, index - around); near <= Math.min(lines.length - 1, index + around); near++) isNear[near] = true;
  });
  /** @type {(DiffLine | {skipped: number})[]} */
  const shown = [];
  lines.forEach((line, index) => {
    const last = shown[shown.length - 1];
    if (isNear[index]) shown.push(line);
    else if (last && "skipped" in last) last.skipped++;
    else shown.push({ skipped: 1 });
  });
  return shown;
}
