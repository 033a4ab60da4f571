// The text and its labels: asked for as one types, shown from a threshold on, opened to see why.

import { after, at, counted, make, named, percent } from "./dom.js";
import { showEditing, showKept, stopEditing, tellAdd } from "./correct.js";
import { colourMap, map, noMap, showMap } from "./map.js";
import { recall, remember } from "./memory.js";
import { why } from "./reasons.js";
import { Refused, ask, drop, lost } from "./server.js";
import { learnNames, shownName, state } from "./state.js";

const WAIT_TYPING = 200; // milliseconds without a key before the text is sent
const WAIT_SPEAKING = 1000; // a screen reader is told what stays, not every letter's answer
const VOTERS = 15;
const NO_TEXT = "Labels appear here as you type. Choose one to see why it is there.";
const UNKNOWN = "Nothing is known of this text: the model has seen none of its words. It gives no label rather than a guess.";

const rows = new Map();
let rowNumber = 0;

export async function refresh() {
  const text = at("text").value;
  at("clear").hidden = !text;
  at("example").hidden = Boolean(text) || !state.health?.model.texts;
  keepState();
  if (!text.trim()) {
    drop("tag", "explain", "map");
    stopEditing();
    showAnswer("", { labels: [] });
    at("text-told").textContent = "";
    noMap("The text and the documents near it are drawn here.");
    return;
  }
  at("answer").classList.add("late");
  try {
    const answer = await ask("tag", { text, k: Number(at("most").value) }, { newest: "tag" });
    at("text-told").textContent = "";
    showAnswer(text, answer);
    await Promise.all([showReasons(), showMap(text)]);
  } catch (error) {
    lost(error, (message) => {
      // The labels that are there belong to another text.
      showAnswer("", { labels: [] }, "This text has no labels: see the message below it.");
      at("text-told").textContent = message;
      noMap("This text is not drawn.");
    });
  }
}

function showAnswer(text, { labels, found = true }, hint = NO_TEXT) {
  state.text = text;
  state.labels = labels;
  learnNames(Object.fromEntries(labels.map((each) => [each.label, each.names])));
  state.found = found;
  state.reasons = null;
  at("answer").classList.remove("late");
  showRows(hint);
  at("correct").hidden = !text || !state.health?.writable || !state.health.model.updatable;
  speak();
}

const shownLabels = () => state.labels.filter((each) => each.score >= state.threshold);

function showRows(hint = NO_TEXT) {
  const labels = shownLabels();
  at("labels-hint").textContent = labels.length ? "" : noLabels(hint);
  at("labels-hint").hidden = labels.length > 0;
  at("copy").hidden = !labels.length;
  const list = at("labels");
  const held = list.contains(document.activeElement) ? document.activeElement : null;
  const names = new Set(labels.map((each) => each.label));
  for (const [name, row] of rows) {
    if (!names.has(name)) {
      row.item.remove();
      rows.delete(name);
    }
  }
  labels.forEach((each, place) => {
    const row = rows.get(each.label) ?? makeRow(each);
    row.name.replaceChildren(named(shownName(each.label)));
    row.score.textContent = percent(each.score);
    row.fill.style.width = `${Math.max(0, Math.min(1, each.score)) * 100}%`;
    if (list.children[place] !== row.item) list.insertBefore(row.item, list.children[place] ?? null);
  });
  if (held) (held.isConnected ? held : at("labels-title")).focus({ preventScroll: true });
  if (state.open !== null && state.text && !rows.has(state.open)) {
    state.open = null;
    colourMap();
  }
  showKept();
}

function noLabels(hint) {
  if (!state.text) return hint;
  if (!state.found || !state.labels.length) return UNKNOWN;
  const [best] = state.labels;
  return `No label reaches ${percent(state.threshold)}; the best, ${shownName(best.label)}, has ${percent(best.score)}.`;
}

const speak = after(WAIT_SPEAKING, () => {
  const labels = shownLabels();
  const told = labels.map((each) => `${shownName(each.label)} ${percent(each.score)}`).join(", ");
  at("spoken").textContent = !state.text ? "" : labels.length ? `${counted(labels.length, "label")}: ${told}` : noLabels("");
});

function makeRow({ label }) {
  const id = `why-${++rowNumber}`;
  const name = make("span", { class: "name" });
  const score = make("span", { class: "score" });
  const fill = make("span", { class: "fill" });
  const button = make(
    "button",
    { type: "button", "aria-expanded": "false", "aria-controls": id },
    name,
    score,
    make("span", { class: "turn", "aria-hidden": "true" }),
    make("span", { class: "bar", "aria-hidden": "true" }, fill),
  );
  const region = make("div", { class: "why", id, role: "region", "aria-label": `Why ${label}`, hidden: "" });
  const item = make("li", { class: "row" }, button, region);
  button.addEventListener("click", () => open(state.open === label ? null : label));
  const row = { item, button, name, score, fill, why: region };
  rows.set(label, row);
  return row;
}

// ---------------------------------------------------------------- why a label is there

function open(label) {
  state.open = label;
  map.voted = new Set();
  for (const [name, row] of rows) {
    row.button.setAttribute("aria-expanded", String(name === label));
    row.why.hidden = name !== label;
    if (name !== label) row.why.replaceChildren();
  }
  colourMap();
  keepState();
  showReasons().catch((error) => lost(error, () => {}));
}

async function showReasons() {
  const label = state.open;
  const row = rows.get(label);
  if (!row) return;
  row.button.setAttribute("aria-expanded", "true");
  row.why.hidden = false;
  if (!row.why.hasChildNodes()) row.why.append(make("p", { class: "quiet" }, "Looking for the reasons…"));
  const { text } = state;
  const body = { text, k: Number(at("most").value), voters: VOTERS };
  state.reasons ??= ask("explain", body, { newest: "explain" });
  const asked = state.reasons;
  let answer;
  try {
    answer = await asked;
  } catch (error) {
    if (state.reasons === asked) state.reasons = null;
    if (!(error instanceof Refused) || error.status === 503) throw error;
    if (state.open === label) row.why.replaceChildren(make("p", { class: "alarm" }, error.message));
    return;
  }
  if (state.open !== label || state.text !== text || state.reasons !== asked) return;
  learnNames(answer.names);
  const reason = answer.labels.find((each) => each.label === label);
  const tag = state.labels.find((each) => each.label === label);
  map.voted = new Set(reason?.voters.map((voter) => voter.id));
  colourMap();
  row.why.replaceChildren(
    ...(reason ? why({ ...tag, ...reason }, text, answer) : [make("p", { class: "quiet" }, "No reasons were found.")]),
  );
}

export function closeOpen() {
  if (state.open === null) return;
  const row = rows.get(state.open);
  open(null);
  row?.button.focus();
}

// ---------------------------------------------------------------- how many, from which score on, and out with them

function setThreshold(share) {
  state.threshold = share;
  at("threshold").value = String(Math.round(share * 100));
  at("threshold").setAttribute("aria-valuetext", share ? `${percent(share)} and above` : "all");
  at("threshold-told").textContent = share ? percent(share) : "all";
}

async function copyLabels() {
  const text = shownLabels().map((each) => shownName(each.label)).join("\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByHand(text); // on a page that is not from this computer and has no TLS
  }
  at("copied").textContent = `Copied ${counted(shownLabels().length, "label")}.`;
}

function copyByHand(text) {
  const area = make("textarea", { class: "unseen" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  at("copy").focus();
}

// A document of the model, another one each time.
async function showExample() {
  const { points } = state.health;
  const offset = Math.floor(Math.random() * points);
  try {
    const answer = await ask(`documents?offset=${offset}&limit=1`, undefined, { newest: "example" });
    if (!answer.documents.length) return;
    setText(answer.documents[0].text);
    at("text").focus();
  } catch (error) {
    lost(error, (message) => {
      at("text-told").textContent = message;
    });
  }
}

export function setText(text) {
  at("text").value = text;
  return refresh();
}

export function keepState() {
  const { threshold, language, open: label, editing, newId, decided } = state;
  const names = Object.fromEntries([...decided.keys()].map((each) => [each, state.names.get(each)]));
  remember("page", { text: at("text").value, most: at("most").value, threshold, language, open: label, editing, newId, decided: [...decided], names });
}

export function recallState() {
  const kept = recall("page");
  if (!kept) return;
  at("text").value = kept.text;
  at("most").value = kept.most;
  state.open = kept.open;
  state.language = kept.language ?? "";
  state.editing = kept.editing;
  state.newId = kept.newId;
  state.decided = new Map(kept.decided);
  learnNames(kept.names);
  showEditing();
  setThreshold(kept.threshold);
}

const refreshSoon = after(WAIT_TYPING, refresh);
at("text").addEventListener("input", () => {
  tellAdd();
  at("text").value.trim() ? refreshSoon() : refresh();
});
at("clear").addEventListener("click", () => {
  setText("");
  at("text").focus();
});
at("example").addEventListener("click", showExample);
at("most").addEventListener("change", refresh);
at("language").addEventListener("change", () => {
  state.language = at("language").value;
  keepState();
  showRows();
  showReasons().catch((error) => lost(error, () => {}));
});
at("copy").addEventListener("click", copyLabels);
at("threshold").addEventListener("input", () => {
  setThreshold(Number(at("threshold").value) / 100);
  at("copied").textContent = "";
  keepState();
  showRows();
  showReasons().catch((error) => lost(error, () => {}));
  speak();
});
at("suggested").addEventListener("click", () => {
  setThreshold(Number(at("suggested").dataset.share));
  at("threshold").dispatchEvent(new Event("input"));
});
