// What the server says about its model, and what that allows.

import { at, counted, make, percent } from "./dom.js";
import { state } from "./state.js";
import { readHealth } from "./token.js";

const CLOSED = "This page only reads. To correct, add and delete documents here, start the server with a token: set the variable NEARTAG_TOKEN, or give --token-file.";

const NO_TOKEN = "This server needs a token, for reading too. Reload the page to give it.";

export async function showModel() {
  const health = await readHealth();
  if (health === null) {
    at("closed").textContent = NO_TOKEN;
    at("closed").hidden = false;
    return;
  }
  const { model } = health;
  state.health = health;
  state.calibrated = model.calibrated;
  const broken = health.reload_error ? ". The model was changed and cannot be read; this is the one before." : "";
  at("model-name").textContent = model.name;
  at("model").textContent = `${counted(health.points, "document")}, ${counted(health.labels, "label")}${broken}`;
  document.title = `${model.name} – neartag`;
  const fixed = `A model of kind ${model.kind} takes no documents after training, so this page only reads.`;
  at("closed").textContent = model.updatable ? CLOSED : fixed;
  at("closed").hidden = health.writable && model.updatable;
  at("example").hidden = Boolean(at("text").value) || !model.texts;
  showLanguages(model.languages);
  const { f1 } = model.thresholds;
  at("suggested").hidden = f1 === undefined;
  if (f1 !== undefined) {
    at("suggested").dataset.share = String(f1);
    at("suggested").textContent = `best balance: ${percent(f1)}`;
  }
}

function showLanguages(languages) {
  const choice = at("language");
  at("language-part").hidden = languages.length < 2;
  if (choice.options.length === languages.length + 1) return;
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
  const option = (language) => make("option", { value: language }, nameOf(names, language));
  choice.replaceChildren(make("option", { value: "" }, "the labels' own"), ...languages.map(option));
  choice.value = languages.includes(state.language) ? state.language : "";
}

function nameOf(names, language) {
  try {
    return names.of(language);
  } catch {
    return language; // not the code of a language
  }
}
