// The review: texts that are worth labelling, or labels that look wrong, one document after another.

import { at, button, counted, make, named, percent } from "./dom.js";
import { edit, startNew, stopEditing, whenAdded } from "./correct.js";
import { bringBack, keepDraft } from "./draft.js";
import { fileQuery, inWords } from "./file.js";
import { recall, remember } from "./memory.js";
import { documentName } from "./reasons.js";
import { Unreachable, ask, drop, lost, sendFile } from "./server.js";
import { learnNames, shownName, state } from "./state.js";
import { setText } from "./tagging.js";
import { go } from "./views.js";

const PATIENCE = 75000; // milliseconds

// A change is seen by every worker of the server within a second: until then the page knows better what it saved.
const SEEN = 2000; // milliseconds

// { items, place, saved, settled, gone }; each item is a text to label, or a document with a doubtful label
let queue = null;
const own = new Map(); // documents that were saved here: their text and labels, and when

async function find(act) {
  at("review-told").replaceChildren(make("p", {}, "Looking…"));
  try {
    const items = await act();
    if (items === null) return;
    if (!items.length) {
      at("review-told").replaceChildren(make("p", {}, "Nothing was found to look at."));
      return;
    }
    at("review-told").replaceChildren();
    at("queue-told").replaceChildren();
    keepDraft();
    queue = { items, place: 0, saved: 0, settled: 0, gone: 0 };
    go("#/");
    await showItem();
    if (queue !== null) at("queue-title").focus();
  } catch (error) {
    at("review-told").replaceChildren(make("p", { class: "alarm" }, inWords(error.message, at("review-form"))));
    lost(error, () => {});
  }
}

async function findTexts() {
  const form = at("review-form");
  const [file] = form.elements.file.files;
  const texts = form.elements.texts.value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!file && !texts.length) {
    at("review-told").replaceChildren(make("p", { class: "alarm" }, "Paste texts, or choose a file."));
    form.elements.texts.focus();
    return null;
  }
  const n = Number(form.elements.n.value);
  const settings = { newest: "review", patience: PATIENCE };
  let answer;
  if (file) {
    const sent = await sendFile(`review-file?${fileQuery(form, file, { n })}`, file, settings);
    answer = JSON.parse(await sent.text.text());
  } else answer = await ask("review", { texts, n }, settings);
  learnNames(answer.names);
  return answer.documents.map(({ id, text, reason, evidence }) => ({ id, text, why: reason, evidence }));
}

async function findDoubts() {
  const n = Number(at("review-form").elements.n.value);
  const { doubts, names } = await ask("doubts", { n }, { newest: "review", patience: PATIENCE });
  learnNames(names);
  return doubts.map(({ document, label, kind, score, reason, evidence }) => ({ document, label, kind, score, why: reason, evidence }));
}

// ---------------------------------------------------------------- one document after another

// Shows the item whose turn it is. A document is shown as it is now: it may have been changed since the question was asked.
async function showItem() {
  drop("item");
  remember("queue", queue);
  at("queue").hidden = queue === null;
  if (queue === null) return;
  const item = showBar();
  if (!item.document) {
    startNew(item.id);
    await setText(item.text);
    return;
  }
  stopEditing();
  setText(""); // what was there is not to be saved for this document
  let now;
  try {
    now = await askDocument(item.document);
  } catch (error) {
    if (error instanceof Unreachable || error.status === 503) tellTrouble(error.message);
    lost(error, tellTrouble);
    return;
  }
  await showDocument(item, now);
}

// The document as it is now; undefined where it is gone.
async function askDocument({ id }) {
  const saved = own.get(id);
  const { documents, names } = await ask(`documents?${new URLSearchParams({ id, limit: 1 })}`, undefined, { newest: "item" });
  learnNames(names);
  return saved && Date.now() - saved.when < SEEN ? { ...documents[0], ...saved.document } : documents[0];
}

async function showDocument({ label, kind, document: { id } }, now) {
  if (!now) {
    queue.gone += 1;
    tell("The model has no ", named(id), " any more.");
    await next();
  } else if (label && now.labels.includes(label) === (kind === "missing")) {
    queue.settled += 1;
    tell("Settled already: ", named(id), kind === "missing" ? " has " : " no longer has ", named(shownName(label)), ".");
    await next();
  } else if (now.text === null || now.cut) { // saving would put what is shown in place of the whole text
    tell("The page does not have the whole text of ", named(id), ": correct it with neartag add --replace.");
  } else await edit({ ...now, offered: kind === "missing" ? [label] : [] });
}

function tellTrouble(message) {
  const again = () => {
    at("queue-told").replaceChildren();
    showItem();
  };
  tell(make("span", { class: "alarm" }, message), " ", button("link", "Try again", again));
}

function tell(...parts) {
  at("queue-told").append(make("p", {}, ...parts));
}

// Shows a document of the model to be corrected: alone or, where a queue is under way, as the next in it.
export function open(found) {
  keepDraft();
  go("#/");
  if (queue === null) return edit(found);
  queue.items.splice(queue.place, 0, { document: found, evidence: [] });
  at("queue-told").replaceChildren();
  return showItem();
}

function showBar() {
  const { items, place } = queue;
  const item = items[place];
  at("queue-title").textContent = `Review: ${place + 1} of ${items.length}`;
  at("queue-why").replaceChildren(...reason(item), ...evidence(item.evidence));
  return item;
}

function reason({ document, label, kind, score, why }) {
  if (document && !label) return [make("p", {}, "You opened it in the documents. The review goes on after it.")];
  if (!label) return [make("p", {}, `Worth labelling. ${why[0].toUpperCase()}${why.slice(1)}.`)];
  const what = kind === "wrong" ? "Probably wrong: " : "Probably missing: ";
  return [make("p", {}, what, make("strong", {}, named(shownName(label))), ` (${percent(score)}). ${why}.`)];
}

function evidence(near) {
  if (!near.length) return [];
  const items = near.map((each) =>
    make(
      "li",
      { class: "voter" },
      make("p", { class: "who" }, documentName(each), make("span", { class: "quiet" }, `similarity ${each.similarity.toFixed(2)}`)),
      make("p", { class: "quiet" }, each.words.length ? `In common: ${each.words.join(", ")}` : "No telling word in common"),
      make("ul", { class: "tags", "aria-label": "Its labels" }, ...each.labels.map((label) => make("li", { class: "tag" }, named(shownName(label))))),
    ),
  );
  return [make("details", { "aria-label": "The nearest documents" }, make("summary", {}, "The nearest documents"), make("ol", { class: "voters" }, ...items))];
}

async function next() {
  queue.place += 1;
  if (queue.place < queue.items.length) {
    const shown = showItem();
    at("queue-title").focus();
    await shown;
    return;
  }
  const { items, saved, settled, gone } = queue;
  const others = [settled ? `, ${settled} settled already` : "", gone ? `, ${gone} gone` : ""].join("");
  end(`Reviewed all ${counted(items.length, "document")}; ${saved} saved${others}.`);
}

function end(told) {
  queue = null;
  showItem();
  const back = bringBack() ? " The text that you were typing is back under One text." : "";
  at("review-told").replaceChildren(make("p", {}, told + back));
  go("#/review");
}

whenAdded(([id], document) => {
  if (queue === null) return;
  queue.saved += 1;
  own.set(id, { document: { id, ...document }, when: Date.now() });
  at("queue-told").replaceChildren();
  tell("Saved ", named(id), ".");
  next();
});

at("queue-skip").addEventListener("click", () => {
  at("queue-told").replaceChildren();
  next();
});
at("queue-end").addEventListener("click", () => end(`Ended: ${queue.saved} of ${counted(queue.items.length, "document")} saved.`));
at("review-form").addEventListener("submit", (event) => {
  event.preventDefault();
  find(findTexts);
});
at("review-doubts").addEventListener("click", () => find(findDoubts));

// The names of labels may be wanted in another language now.
at("language").addEventListener("change", () => {
  if (queue !== null) showBar();
});

export function recallQueue() {
  queue = recall("queue");
  at("queue").hidden = queue === null;
  if (queue === null) return;
  const { document } = showBar();
  if (document && state.editing?.id !== document.id) showItem(); // the page was left before the document came
}
