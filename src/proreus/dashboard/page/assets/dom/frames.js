// @ts-check
/** Work on the page happens once per animation frame, however many events arrive between two. */

/**
 * @param {() => void} draw @param {AbortSignal} signal
 * @returns {() => void} asks for a drawing at the next frame
 */
export function perFrame(draw, signal) {
  let isAsked = false;
  const frame = () => {
    isAsked = false;
    if (!signal.aborted) draw();
  };
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(frame);
  };
}

/** @param {() => void} tick @param {number} milliseconds @param {AbortSignal} signal */
export function every(milliseconds, signal, tick) {
  const timer = setInterval(tick, milliseconds);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/**
 * @template {any[]} A
 * @param {number} milliseconds @param {(...args: A) => void} act
 * @returns {(...args: A) => void} acts once nothing has been asked for so long
 */
export function settled(milliseconds, act) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => act(...args), milliseconds);
  };
}
