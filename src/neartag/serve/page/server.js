// Asking the server: one newest request of each kind, and what to do where it does not answer.

import { at } from "./dom.js";
import { recall } from "./memory.js";

const PATIENCE = 15000; // milliseconds; a little more than the server gives a request

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}
export class Unreachable extends Error {}
class Stale extends Error {}

const underway = new Map(); // the newest request of each kind; it ends the one before

export async function ask(path, body, settings = {}) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const content = body === undefined ? undefined : JSON.stringify(body);
  const { answer, text } = await send(path, { method: content === undefined ? "GET" : "POST", headers, body: content }, settings);
  if (text === null) throw new Refused(answer.status, "The server's answer cannot be read.");
  return text;
}

// Sends a file and returns the answer's headers and content as they are.
export async function sendFile(path, file, settings = {}) {
  const headers = { "Content-Type": "application/octet-stream" };
  return send(path, { method: "POST", headers, body: file }, { whole: true, ...settings });
}

let giveToken = async () => false; // asks the reader for a token, and says whether there is one now

export function whenTokenNeeded(act) {
  giveToken = act;
}

async function send(path, request, settings) {
  const { token = recall("token"), id, newest, whole = false, patience = PATIENCE } = settings;
  const control = new AbortController();
  if (newest) {
    underway.get(newest)?.abort();
    underway.set(newest, control);
  }
  const timer = setTimeout(() => control.abort(), patience);
  const stale = () => newest && underway.get(newest) !== control;
  try {
    if (token) request.headers.Authorization = `Bearer ${token}`;
    if (id) request.headers["X-Request-Id"] = id;
    const answer = await fetch(path, { ...request, signal: control.signal, cache: "no-store" });
    const read = whole && answer.ok ? answer.blob() : answer.json();
    const text = await read.catch((error) => {
      if (error.name === "AbortError") throw error;
      return null; // not JSON: from something that stands between the server and us
    });
    if (stale()) throw new Stale();
    if (answer.status === 401 && settings.token === undefined && (await giveToken())) return await send(path, request, settings);
    if (!answer.ok) throw new Refused(answer.status, refusal(text, answer.status));
    reached();
    return { answer, text };
  } catch (error) {
    if (error instanceof Refused || error instanceof Stale) throw error;
    if (stale()) throw new Stale();
    throw new Unreachable("The server does not answer.");
  } finally {
    clearTimeout(timer);
  }
}

function refusal(content, status) {
  if (typeof content?.error === "string" && content.error) {
    return content.error[0].toUpperCase() + content.error.slice(1).replace(/[^.!?]$/, "$&.");
  }
  if (status < 400) return "The server's answer cannot be read.";
  return status === 503 ? "The server is busy." : `The server answered with error ${status}.`;
}

// What is under way and of no use any more is not waited for.
export function drop(...kinds) {
  for (const kind of kinds) {
    const control = underway.get(kind);
    underway.delete(kind);
    control?.abort();
  }
}

let retries = 0;
let retryTimer;
let again = async () => {}; // what to ask again when the server is back

export function whenBack(act) {
  again = act;
}

function reached() {
  retries = 0;
  clearTimeout(retryTimer);
  at("banner").hidden = true;
}

// Says what went wrong, and tries again where waiting may help.
export function lost(error, tell) {
  if (error instanceof Stale) return;
  if (error instanceof Refused && error.status !== 503) {
    tell(error.message);
    return;
  }
  if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
  at("trouble").textContent = `${error.message.replace(/\.$/, "")}. Trying again; what you see may be out of date.`;
  at("banner").hidden = false;
  clearTimeout(retryTimer);
  retryTimer = setTimeout(tryAgain, Math.min(1000 * 2 ** retries++, 10000));
}

export async function tryAgain() {
  try {
    await again();
  } catch (error) {
    lost(error, () => {});
  }
}
