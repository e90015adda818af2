// @ts-check
/**
 * Rows in order, kept so while they change. A change costs one pass over the rows per flush and a
 * binary search per changed row; only a new order or filter sorts everything.
 */

/**
 * @template {{uid: string}} T
 */
export class OrderedRows {
  /** @param {(one: T, other: T) => number} compare */
  constructor(compare) {
    this.compare = compare;
    /** @type {(row: T) => boolean} */
    this.accepts = () => true;
    /** @type {Map<string, T>} */
    this.all = new Map();
    /** @type {T[]} */
    this.ordered = [];
    /** @type {Set<string>} */
    this.changed = new Set();
    this.isStale = false;
  }

  /** @param {Iterable<T>} rows */
  replace(rows) {
    this.all = new Map();
    for (const row of rows) this.all.set(row.uid, row);
    this.isStale = true;
  }

  /** @param {T} row */
  set(row) {
    this.all.set(row.uid, row);
    this.changed.add(row.uid);
  }

  /** @param {string} uid */
  remove(uid) {
    this.all.delete(uid);
    this.changed.add(uid);
  }

  /** @param {(one: T, other: T) => number} compare */
  orderBy(compare) {
    this.compare = compare;
    this.isStale = true;
  }

  /** @param {(row: T) => boolean} accepts */
  filterBy(accepts) {
    this.accepts = accepts;
    this.isStale = true;
  }

  /** The accepted rows in order, as of now. @returns {readonly T[]} */
  flush() {
    if (this.isStale) {
      this.ordered = [...this.all.values()].filter(this.accepts).sort(this.compare);
    } else if (this.changed.size) {
      this.ordered = this.#merged();
    }
    this.isStale = false;
    this.changed.clear();
    return this.ordered;
  }

  #merged() {
    const kept = this.ordered.filter((row) => !this.changed.has(row.uid));
    /** @type {T[]} */
    const arrived = [];
    for (const uid of this.changed) {
      const row = this.all.get(uid);
      if (row && this.accepts(row)) arrived.push(row);
    }
    arrived.sort(this.compare);
    /** @type {T[]} */
    const merged = [];
    let from = 0;
    for (const row of arrived) {
      const at = this.#place(kept, row, from);
      for (; from < at; from++) merged.push(kept[from]);
      merged.push(row);
    }
    for (; from < kept.length; from++) merged.push(kept[from]);
    return merged;
  }

  /** @param {T[]} rows @param {T} row @param {number} low */
  #place(rows, row, low) {
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.compare(rows[middle], row) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const collator = new Intl.Collator("en", { numeric: true });

/** Numbers by size, text as people order it. @param {unknown} one @param {unknown} other */
export function compareCells(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(String(one ?? ""), String(other ?? ""));
}

/** Whether a text has every word of a filter. @param {string} filter @returns {(text: string) => boolean} */
export function matcher(filter) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
