// @ts-check
/** Logging in with a token. */

import { logIn, messageOf } from "../api/http.js";
import { h, replace } from "../dom/element.js";

/** @param {HTMLElement} root @param {() => void} entered @param {string} [why] */
export function showLogin(root, entered, why = "") {
  const failure = h("p", { class: "failure", role: "alert", hidden: !why }, why);
  const field = h("input", {
    id: "token", type: "password", required: true, autocomplete: "off", spellcheck: "false", placeholder: "Token",
  });
  const button = h("button", { class: "primary", type: "submit" }, "Log in");
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await logIn(field.value.trim());
      entered();
    } catch (error) {
      failure.hidden = false;
      failure.textContent = messageOf(error);
      field.select();
    } finally {
      button.disabled = false;
    }
  };
  replace(
    root,
    h("main", { class: "login" },
      h("form", { onsubmit: submit },
        h("h1", {}, h("span", { class: "mark" }), "proreus"),
        h("label", { for: "token" }, "A token that the cluster accepts"),
        field,
        failure,
        button,
        h("p", { class: "faint" }, "proreus up prints a link that logs in once. The administrator's token is in the kubeconfig; ",
          "kubectl create token NAME makes one for a service account."),
      ),
    ),
  );
  field.focus();
}
