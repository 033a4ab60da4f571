// The token that allows changes, and reading where that needs one: asked for when it is first needed, and kept until the
// tab is closed.

import { at } from "./dom.js";
import { recall, remember } from "./memory.js";
import { Refused, ask, whenTokenNeeded } from "./server.js";

const KEY = "token";
const TO_CHANGE = "Adding and deleting documents needs the server's token. It is kept until this tab is closed.";
const TO_READ = "This server needs a token, for reading too. It is kept until this tab is closed.";
const WRONG = "This is the wrong token. Whoever started the server knows the right one.";
const READ_ONLY = "This token allows reading only. Give one that allows changes.";

function askToken(why, told) {
  const box = at("token-box");
  at("token").value = "";
  at("token-why").textContent = why;
  at("token-told").textContent = told;
  box.showModal();
  at("token").focus();
  return new Promise((resolve) => {
    let given = null;
    at("token-form").onsubmit = (event) => {
      event.preventDefault();
      const typed = at("token").value.trim();
      if (!/^[\x21-\x7e]+$/.test(typed)) {
        at("token-told").textContent = "A token is letters, digits and signs without spaces.";
        return;
      }
      given = typed;
      box.close();
    };
    box.onclose = () => {
      at("token").value = "";
      resolve(given);
    };
  });
}

let last = { what: "", id: "" }; // a change that was not answered: sent again it has the same id, and is made once

function idOf(path, body) {
  const what = `${path} ${JSON.stringify(body)}`;
  if (last.what !== what) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    last = { what, id: Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("") };
  }
  return last.id;
}

// Asks for a change with the token, and for the token where there is none or it is wrong; undefined where the reader
// gave up.
export async function askWithToken(path, body) {
  let told = "";
  for (;;) {
    const token = (told ? null : recall(KEY)) ?? (await askToken(TO_CHANGE, told));
    if (token === null) return undefined;
    try {
      const answer = await ask(path, body, { token, id: idOf(path, body) });
      remember(KEY, token);
      last = { what: "", id: "" };
      return answer;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 401) told = WRONG;
      else if (error.status === 403 && error.message.includes("reading only")) told = READ_ONLY;
      else throw error;
      if (error.status === 401) remember(KEY, null);
    }
  }
}

let asking = null; // one question at a time, however many parts of the page need the answer

async function askToRead(told) {
  asking ??= askToken(TO_READ, told).finally(() => {
    asking = null;
  });
  const token = await asking;
  if (token !== null) remember(KEY, token);
  return token !== null;
}

const tellWrong = () => (recall(KEY) === null ? "" : WRONG);

// Returns what the server says of itself, and asks for the token where it says nothing without one; null where the
// reader gave up.
export async function readHealth() {
  for (;;) {
    const health = await ask("health", undefined, { newest: "health" });
    if (health.model) return health;
    if (!(await askToRead(tellWrong()))) return null;
  }
}

whenTokenNeeded(() => askToRead(tellWrong()));
at("token-cancel").addEventListener("click", () => at("token-box").close());
