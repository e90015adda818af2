// @ts-check
/** Who owns which field: managedFields, turned round. */

/** @typedef {import("../types.js").ManagedFields} ManagedFields */

/**
 * The owners of a path in an object. A path into a list goes by the keys that managedFields name.
 * @param {ManagedFields[]} managed @param {any} object @param {(string | number)[]} path
 */
export function ownersOf(managed, object, path) {
  return managed.filter((entry) => owns(entry.fieldsV1 ?? {}, object, path));
}

/** @param {any} fields @param {any} value @param {(string | number)[]} path */
function owns(fields, value, path) {
  let inside = fields;
  let at = value;
  for (const step of path) {
    const next = typeof step === "number" ? itemOf(inside, at?.[step], step) : inside[`f:${step}`];
    if (next === undefined) return false;
    at = at?.[step];
    inside = next;
    // A field without fields inside is owned whole, with all that is below it.
    if (Object.keys(inside).length === 0) return true;
  }
  return "." in inside;
}

/** @param {any} fields @param {any} item @param {number} index */
function itemOf(fields, item, index) {
  for (const key of Object.keys(fields)) {
    if (key.startsWith("k:")) {
      const wanted = JSON.parse(key.slice(2));
      if (Object.entries(wanted).every(([name, value]) => item?.[name] === value)) return fields[key];
    } else if (key.startsWith("v:") && JSON.stringify(item) === key.slice(2)) return fields[key];
  }
  return fields[`i:${index}`];
}

/** @param {ManagedFields} entry */
export function ownerName(entry) {
  return entry.subresource ? `${entry.manager} (${entry.subresource})` : entry.manager;
}

/**
 * Who has written between two states of an object: whose entry is new, or has another time. An entry
 * that only became smaller has lost fields to somebody else.
 * @param {ManagedFields[] | undefined} before @param {ManagedFields[] | undefined} after
 */
export function writersBetween(before, after) {
  return (after ?? []).filter((entry) => {
    const old = (before ?? []).find((one) => ownerName(one) === ownerName(entry) && one.operation === entry.operation);
    if (!old || old.time !== entry.time) return true;
    const [was, is] = [old, entry].map((one) => JSON.stringify(one.fieldsV1 ?? {}));
    return was !== is && is.length >= was.length;
  });
}
