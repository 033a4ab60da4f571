// The token that allows changes: asked for when it is first needed, and kept until the tab is closed.

import { at } from "./dom.js";
import { recall, remember } from "./memory.js";
import { Refused, ask } from "./server.js";

const KEY = "token";

function askToken(told) {
  const box = at("token-box");
  at("token").value = "";
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

// Asks with the token, and for the token where there is none or it is wrong; undefined where the reader gave up.
export async function askWithToken(path, body) {
  let told = "";
  for (;;) {
    const token = recall(KEY) ?? (await askToken(told));
    if (token === null) return undefined;
    try {
      const answer = await ask(path, body, { token });
      remember(KEY, token);
      return answer;
    } catch (error) {
      if (!(error instanceof Refused && error.status === 401)) throw error;
      remember(KEY, null);
      told = "This is the wrong token. Whoever started the server knows the right one.";
    }
  }
}

at("token-cancel").addEventListener("click", () => at("token-box").close());
