// What the server says about its model, and what that allows.

import { at, counted, percent } from "./dom.js";
import { ask } from "./server.js";
import { state } from "./state.js";

const CLOSED = "This page only reads. To correct, add and delete documents here, start the server with a token: set the variable NEARTAG_TOKEN, or give --token-file.";

export async function showModel() {
  const health = await ask("health", undefined, { newest: "health" });
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
  const { f1 } = model.thresholds;
  at("suggested").hidden = f1 === undefined;
  if (f1 !== undefined) {
    at("suggested").dataset.share = String(f1);
    at("suggested").textContent = `best balance: ${percent(f1)}`;
  }
}
