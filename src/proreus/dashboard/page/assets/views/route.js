// @ts-check
/** @param {import("../types.js").Visit} visit */
export function showRoute({ root }) {
  root.textContent = "…";
}
