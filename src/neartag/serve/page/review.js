// The review: texts that are worth labelling, or labels that look wrong, one document after another.

import { at, counted, make, named, percent } from "./dom.js";
import { edit, startNew, stopEditing, whenAdded } from "./correct.js";
import { fileFields } from "./file.js";
import { recall, remember } from "./memory.js";
import { documentName } from "./reasons.js";
import { ask, lost, sendFile } from "./server.js";
import { setText } from "./tagging.js";
import { go } from "./views.js";

const PATIENCE = 75000; // milliseconds

let queue = null; // { items, place, saved }; each item is a text to label, or a document with a doubtful label

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
    queue = { items, place: 0, saved: 0 };
    go("#/");
    await showItem();
    at("queue-title").focus();
  } catch (error) {
    at("review-told").replaceChildren(make("p", { class: "alarm" }, error.message));
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
    const query = new URLSearchParams({ name: file.name, n, ...fileFields(form) });
    const sent = await sendFile(`review-file?${query}`, file, settings);
    answer = JSON.parse(await sent.text.text());
  } else answer = await ask("review", { texts, n }, settings);
  return answer.documents.map(({ id, text, reason, evidence }) => ({ id, text, why: reason, evidence }));
}

async function findDoubts() {
  const n = Number(at("review-form").elements.n.value);
  const { doubts } = await ask("doubts", { n }, { newest: "review", patience: PATIENCE });
  return doubts.map(({ document, label, kind, score, reason, evidence }) => ({ document, label, kind, score, why: reason, evidence }));
}

// ---------------------------------------------------------------- one document after another

function showItem() {
  remember("queue", queue);
  at("queue").hidden = queue === null;
  if (queue === null) return undefined;
  const item = showBar();
  if (!item.document) {
    startNew(item.id);
    return setText(item.text);
  }
  if (item.document.text === null || item.document.cut) { // saving would put what is shown in place of the whole text
    stopEditing();
    at("queue-told").textContent = `The page does not have the whole text of ${item.document.id}: correct it with neartag add --replace.`;
    return setText("");
  }
  return edit({ ...item.document, offered: item.kind === "missing" ? [item.label] : [] });
}

function showBar() {
  const { items, place } = queue;
  const item = items[place];
  at("queue-title").textContent = `Review: ${place + 1} of ${items.length}`;
  at("queue-why").replaceChildren(...reason(item), ...evidence(item.evidence));
  return item;
}

function reason({ label, kind, score, why }) {
  if (!label) return [make("p", {}, `Worth labelling. ${why[0].toUpperCase()}${why.slice(1)}.`)];
  const what = kind === "wrong" ? "Probably wrong: " : "Probably missing: ";
  return [make("p", {}, what, make("strong", {}, named(label)), ` (${percent(score)}). ${why}.`)];
}

function evidence(near) {
  if (!near.length) return [];
  const items = near.map((each) =>
    make(
      "li",
      { class: "voter" },
      make("p", { class: "who" }, documentName(each), make("span", { class: "quiet" }, `similarity ${each.similarity.toFixed(2)}`)),
      make("p", { class: "quiet" }, each.words.length ? `In common: ${each.words.join(", ")}` : "No word in common"),
      make("ul", { class: "tags", "aria-label": "Its labels" }, ...each.labels.map((label) => make("li", { class: "tag" }, named(label)))),
    ),
  );
  return [make("details", { "aria-label": "The nearest documents" }, make("summary", {}, "The nearest documents"), make("ol", { class: "voters" }, ...items))];
}

async function next() {
  queue.place += 1;
  if (queue.place < queue.items.length) {
    await showItem();
    at("queue-title").focus();
    return;
  }
  end(`Reviewed all ${counted(queue.items.length, "document")}; ${queue.saved} saved.`);
}

function end(told) {
  queue = null;
  showItem();
  stopEditing();
  setText("");
  at("review-told").replaceChildren(make("p", {}, told));
  go("#/review");
}

whenAdded((ids) => {
  if (queue === null) return;
  queue.saved += 1;
  at("queue-told").textContent = `Saved ${ids[0]}.`;
  next();
});

at("queue-skip").addEventListener("click", () => {
  at("queue-told").textContent = "";
  next();
});
at("queue-end").addEventListener("click", () => end(`Ended: ${queue.saved} of ${counted(queue.items.length, "document")} saved.`));
at("review-form").addEventListener("submit", (event) => {
  event.preventDefault();
  find(findTexts);
});
at("review-doubts").addEventListener("click", () => find(findDoubts));

export function recallQueue() {
  queue = recall("queue");
  at("queue").hidden = queue === null;
  if (queue !== null) showBar();
}
