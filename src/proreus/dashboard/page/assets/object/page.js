// @ts-check
/** @param {import("../types.js").Visit} visit */
export function showObject({ root }) {
  root.textContent = "…";
}
