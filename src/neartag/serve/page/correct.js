// Correcting the labels of a text: what to keep, what to take away, and adding the document to the model.

import { at, button, make, named } from "./dom.js";
import { bringBack, showDraft } from "./draft.js";
import { finder, takeTyped, whenTaken } from "./finder.js";
import { showModel } from "./model.js";
import { Unreachable, lost } from "./server.js";
import { shownName, state } from "./state.js";
import { keepState, refresh, setText } from "./tagging.js";
import { askWithToken } from "./token.js";

const LIKELY = 0.5; // labels that are more likely right than wrong are kept unless taken away

const after = []; // what to do when a document was added or its labels were saved

export function whenAdded(act) {
  after.push(act);
}

// Where a threshold is set, the labels that it lets through are kept; of a document that is there, its own.
function keptLabels() {
  const least = state.threshold || LIKELY;
  const likely = state.editing ? [] : state.labels.filter((each) => each.score >= least).map((each) => each.label);
  const chosen = [...state.decided].filter(([, kept]) => kept).map(([label]) => label);
  return [...new Set([...likely, ...chosen])].filter((label) => state.decided.get(label) !== false);
}

export function showKept() {
  const kept = keptLabels();
  at("kept").replaceChildren(
    ...kept.map((label) => {
      const away = button("", "×", () => decide(label, false), { "aria-label": `Take away ${shownName(label)}` });
      return make("li", { class: "chip" }, named(shownName(label)), away);
    }),
  );
  if (!kept.length) at("kept").append(make("li", { class: "quiet" }, "None yet."));
  const offered = [...(state.editing?.offered ?? []), ...state.labels.map((each) => each.label)];
  const rest = [...new Set(offered)].filter((label) => !kept.includes(label));
  at("offers").replaceChildren(
    ...rest.map((label) =>
      make("li", {}, button("offer", ["+ ", named(shownName(label))], () => decide(label, true), { "aria-label": `Keep ${shownName(label)}` })),
    ),
  );
  at("offers-part").hidden = !rest.length;
}

function decide(label, kept) {
  const list = at(kept ? "offers" : "kept");
  const place = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  state.decided.set(label, kept);
  showKept();
  tellAdd();
  keepState();
  if (place < 0) return;
  const left = list.querySelectorAll("button");
  (left[Math.min(place, left.length - 1)] ?? finder).focus();
}

export function tellAdd(...parts) {
  at("add-told").replaceChildren(...parts);
}

const alarm = (message) => make("p", { class: "alarm" }, message);

// ---------------------------------------------------------------- a document that the model has

// Shows a document of the model with its own labels, to be corrected and saved in its place.
export function edit({ id, text, labels, offered = [] }) {
  state.editing = { id, offered };
  state.newId = null;
  state.decided = new Map(labels.map((label) => [label, true]));
  showEditing();
  return setText(text);
}

// Begins a new document, which gets this id where there is one.
export function startNew(id) {
  stopEditing();
  state.newId = id;
}

export function stopEditing() {
  state.editing = null;
  state.newId = null;
  state.decided.clear();
  showEditing();
}

export function showEditing() {
  const own = state.editing;
  at("add-title").textContent = own ? "Correct the labels of a document" : "Correct the labels and add the document";
  at("add-hint").replaceChildren(
    ...(own
      ? ["These are the labels that ", named(own.id), " has now. Saving puts the document with the labels you keep in its place."]
      : ["The model learns from it at once. Likely labels are kept; take away what is wrong, add what is missing."]),
  );
  at("offers-title").textContent = own ? "Suggested for its text" : "Less likely";
  at("add").textContent = own ? "Save the labels" : "Add this document";
  at("edit-end").hidden = !own || !at("queue").hidden; // a queue has its own way on
  showDraft();
}

// ---------------------------------------------------------------- adding the document

let changing = false;

export async function change(act, tell = tellAdd) {
  if (changing) return;
  changing = true;
  at("add").setAttribute("aria-disabled", "true");
  try {
    await act();
  } catch (error) {
    if (error instanceof Unreachable || error.status === 503) tell(alarm(`${error.message} It is not known whether the change was made.`));
    lost(error, (message) => tell(alarm(message)));
  } finally {
    changing = false;
    at("add").removeAttribute("aria-disabled");
  }
}

const confirmedLabels = new Set(); // new labels that the reader confirmed

async function addDocument() {
  if (!(await takeTyped())) return;
  const text = at("text").value;
  const labels = keptLabels();
  if (!text.trim() || text !== state.text) {
    tellAdd(alarm("The labels are not those of this text yet: wait a moment."));
    return;
  }
  if (!labels.length) {
    finder.focus();
    tellAdd(alarm("Give the document at least one label."));
    return;
  }
  const id = state.editing?.id ?? state.newId;
  const document = id === null ? { text, labels } : { text, labels, id };
  const body = { documents: [document], replace: Boolean(state.editing), new_labels: labels.some((label) => confirmedLabels.has(label)) };
  const answer = await askWithToken("add", body);
  if (answer === undefined) {
    tellAdd(make("p", {}, "Not added: there was no token."));
    return;
  }
  const told = state.editing
    ? [make("p", {}, "The labels of ", named(answer.ids[0]), " are saved.")]
    : [make("p", {}, "Added as ", named(answer.ids[0]), ". "), button("link", "Take it back", () => change(() => takeBack(answer.ids)))];
  if (!state.editing) state.decided.clear();
  tellAdd(...told);
  await afterChange();
  for (const act of after) act(answer.ids, { text, labels });
}

async function takeBack(ids) {
  const answer = await askWithToken("forget", { ids });
  if (answer === undefined) return;
  tellAdd(make("p", {}, "Taken back: the model has forgotten the document."));
  at("add").focus();
  state.decided.clear();
  await afterChange();
}

export async function afterChange() {
  await Promise.all([showModel(), refresh()]);
}

whenTaken((label, isNew) => {
  if (isNew) confirmedLabels.add(label);
  decide(label, true);
});
at("add").addEventListener("click", () => change(addDocument));
at("edit-end").addEventListener("click", () => {
  bringBack();
  at("text").focus();
});
