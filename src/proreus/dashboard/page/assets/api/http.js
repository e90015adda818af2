// @ts-check
/** Requests to the API server as the session's user; every failure is an ApiError. */

/** What went wrong, in the server's words. */
export class ApiError extends Error {
  /** @param {number} code @param {string} reason @param {string} message */
  constructor(code, reason, message) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** The request did not reach the server, or its answer did not reach us. */
export class Unreachable extends Error {}

/** @typedef {{username: string, groups: string[], csrfToken: string}} Session */

/** @type {Session | null} */
let session = null;
/** @type {Set<() => void>} */
const onEnded = new Set();

export function currentSession() {
  return session;
}

/** @param {() => void} listener Called when the server no longer knows the session. */
export function whenSessionEnds(listener) {
  onEnded.add(listener);
}

/** @param {string} path @returns {URL} below /dashboard/ */
function own(path) {
  return new URL(path, document.baseURI);
}

/** @param {string} path @param {Record<string, string>} [query] */
export function apiUrl(path, query = {}) {
  const url = own(`api${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== "") url.searchParams.set(name, value);
  }
  return url;
}

/** @param {string} path @param {Record<string, string>} [query] */
export function socketUrl(path, query = {}) {
  const url = apiUrl(path, query);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

/** @returns {Promise<Session | null>} */
export async function readSession() {
  const answer = await reach(own("session"), {});
  session = answer.ok ? await answer.json() : null;
  return session;
}

/** @param {string} token */
export async function logIn(token) {
  const answer = await reach(own("login"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (!answer.ok) throw await errorOf(answer);
  return readSession();
}

export async function logOut() {
  await reach(own("logout"), { method: "POST", headers: csrf() });
  endSession();
}

function endSession() {
  if (session === null) return;
  session = null;
  for (const listener of onEnded) listener();
}

/** @returns {Record<string, string>} */
function csrf() {
  return session ? { "X-CSRF-Token": session.csrfToken } : {};
}

/**
 * @typedef {object} RequestOptions
 * @property {string} [method]
 * @property {Record<string, string>} [query]
 * @property {string} [accept]
 * @property {string} [body]
 * @property {string} [contentType]
 * @property {AbortSignal} [signal]
 */

/**
 * The answer, if it is a good one.
 * @param {string} path @param {RequestOptions} [options]
 */
export async function request(path, options = {}) {
  const { method = "GET", query = {}, accept = "application/json", body, signal } = options;
  /** @type {Record<string, string>} */
  const headers = { Accept: accept, ...(method === "GET" ? {} : csrf()) };
  if (body !== undefined) headers["Content-Type"] = options.contentType ?? "application/json";
  const answer = await reach(apiUrl(path, query), { method, headers, body, signal });
  if (answer.ok) return answer;
  if (answer.status === 401) endSession();
  throw await errorOf(answer);
}

/** @param {string} path @param {RequestOptions} [options] @returns {Promise<any>} */
export async function requestJson(path, options = {}) {
  return (await request(path, options)).json();
}

/** @param {URL} url @param {RequestInit} init */
async function reach(url, init) {
  try {
    return await fetch(url, { ...init, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Unreachable("The server cannot be reached.", { cause: error });
  }
}

/** @param {Response} answer */
async function errorOf(answer) {
  const text = await answer.text();
  try {
    const status = JSON.parse(text);
    return new ApiError(answer.status, status.reason ?? "", status.message ?? text);
  } catch {
    return new ApiError(answer.status, "", text.trim() || answer.statusText);
  }
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
