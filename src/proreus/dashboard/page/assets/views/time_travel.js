// @ts-check
/** @param {import("../types.js").Visit} visit */
export function showTimeTravel({ root }) {
  root.textContent = "…";
}
