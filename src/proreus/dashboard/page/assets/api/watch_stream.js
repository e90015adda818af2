// @ts-check
/**
 * A watch as a stream of events. Tables come over a request, as only that can ask for them by its
 * Accept header; objects over a WebSocket, as browsers allow six requests to a server at a time.
 */

import { ApiError, Unreachable, request, socketUrl } from "./http.js";

/** @typedef {{type: string, object: any}} WatchEvent */

export const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
// The server sends a bookmark about every minute: a stream that is silent for longer is dead.
const SILENCE_MS = 100_000;

/**
 * Each event, until the stream ends. Throws what ended it, if it was not the server's own end.
 * @param {string} path @param {Record<string, string>} query @param {AbortSignal} signal
 * @param {(event: WatchEvent) => void} take @param {() => void} opened
 */
export async function watchTables(path, query, signal, take, opened) {
  const answer = await request(path, { query: { ...query, watch: "true" }, accept: TABLE, signal });
  opened();
  await eachLine(answer, (line) => take(JSON.parse(line)), SILENCE_MS);
}

/**
 * Lines as they arrive.
 * @param {Response} answer @param {(line: string) => void} take @param {number} [silenceMs]
 */
export async function eachLine(answer, take, silenceMs = 0) {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const timer = silenceMs ? setTimeout(() => void reader.cancel(), silenceMs) : 0;
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Unreachable("The connection was lost.", { cause: error });
    } finally {
      clearTimeout(timer);
    }
    if (piece.done) break;
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  }
  if (rest) take(rest);
}

/**
 * @param {string} path @param {Record<string, string>} query @param {AbortSignal} signal
 * @param {(event: WatchEvent) => void} take @param {() => void} opened
 * @returns {Promise<void>}
 */
export function watchObjects(path, query, signal, take, opened) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(socketUrl(path, { ...query, watch: "true" }));
    const stop = () => socket.close();
    let isOpen = false;
    let timer = setTimeout(stop, SILENCE_MS);
    signal.addEventListener("abort", stop);
    socket.onopen = () => {
      isOpen = true;
      opened();
    };
    socket.onmessage = (message) => {
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      try {
        take(JSON.parse(message.data));
      } catch (error) {
        stop();
        reject(error);
      }
    };
    socket.onclose = (closed) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      if (signal.aborted || (isOpen && closed.wasClean)) resolve();
      else if (isOpen) reject(new Unreachable("The connection was lost."));
      else whyNotOpened(path, query, signal).then(reject, reject);
    };
  });
}

/**
 * A browser does not say why a WebSocket was refused; a request to the same place does.
 * @param {string} path @param {Record<string, string>} query @param {AbortSignal} signal
 */
async function whyNotOpened(path, query, signal) {
  await request(path, { query: { ...query, resourceVersion: "", limit: "1" }, signal });
  return new Unreachable("The connection was lost.");
}

/** @param {any} status An ERROR event's object. */
export function errorOfStatus(status) {
  return new ApiError(status.code ?? 500, status.reason ?? "", status.message ?? "The watch failed.");
}
