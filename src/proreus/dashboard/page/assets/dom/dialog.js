// @ts-check
/** Dialogs and short notices. */

import { h } from "./element.js";

/** @typedef {{label: string, kind?: "primary" | "danger", run: () => Promise<void> | void}} Choice */

const NOTICE_MS = 6_000;

/**
 * A dialog with a way out; a choice closes it when it has succeeded, and says why if it has not.
 * @param {string} title @param {Node} content @param {Choice[]} choices
 */
export function showDialog(title, content, choices) {
  const failure = h("p", { class: "failure", role: "alert", hidden: true });
  const close = () => dialog.close();
  const buttons = choices.map(({ label, kind = "primary", run }) =>
    h("button", {
      class: kind,
      type: "submit",
      onclick: async (/** @type {Event} */ event) => {
        event.preventDefault();
        try {
          await run();
          close();
        } catch (error) {
          failure.hidden = false;
          failure.textContent = error instanceof Error ? error.message : String(error);
        }
      },
    }, label),
  );
  const dialog = h(
    "dialog",
    { "aria-label": title },
    h("form", { method: "dialog" },
      h("header", {}, h("h2", {}, title), h("button", { class: "quiet", type: "button", "aria-label": "Close", onclick: close }, "×")),
      content,
      failure,
      choices.length > 0 && h("footer", {}, h("button", { type: "button", onclick: close }, "Cancel"), ...buttons),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** @param {string} text @param {"good" | "bad"} [kind] */
export function notify(text, kind = "good") {
  let place = document.querySelector(".notices");
  if (!place) {
    place = h("div", { class: "notices", role: "status" });
    document.body.append(place);
  }
  const notice = h("div", { class: `notice ${kind}` }, text);
  place.append(notice);
  setTimeout(() => notice.remove(), NOTICE_MS);
}
