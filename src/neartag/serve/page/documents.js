// The documents of the model: browsed, searched, corrected and deleted.

import { after, at, button, counted, make, named } from "./dom.js";
import { change } from "./correct.js";
import { showModel } from "./model.js";
import { documentName } from "./reasons.js";
import { open } from "./review.js";
import { ask, lost } from "./server.js";
import { learnNames, shownName, state } from "./state.js";
import { askWithToken } from "./token.js";
import { whenShown } from "./views.js";

const AT_ONCE = 20;
const OFFERED = 12; // labels
const WAIT_TYPING = 250; // milliseconds
const SHORT = 300; // characters shown of a text

let offset = 0;

async function showDocuments() {
  const wanted = { query: at("documents-query").value.trim(), label: at("documents-label").value.trim(), offset, limit: AT_ONCE };
  try {
    if (!(await isKnown(wanted.label))) {
      tell(make("p", {}, "No label is named exactly so: choose one of those offered."));
      return;
    }
    const answer = await ask(`documents?${new URLSearchParams(wanted)}`, undefined, { newest: "documents" });
    tell();
    learnNames(answer.names);
    list(answer, wanted.query || wanted.label);
  } catch (error) {
    lost(error, (message) => {
      at("documents-list").replaceChildren();
      tell(make("p", { class: "alarm" }, message));
    });
  }
}

// Offers the labels that fit what is typed, and tells whether it is the name of one.
async function isKnown(typed) {
  if (!typed) return true;
  const { labels, known } = await ask(`labels?prefix=${encodeURIComponent(typed)}&limit=${OFFERED}`, undefined, { newest: "documents-label" });
  at("documents-labels").replaceChildren(...labels.map((label) => make("option", { value: label })));
  return known !== null;
}

function list({ documents, total, complete }, searched) {
  const last = offset + documents.length;
  const which = documents.length ? `${offset + 1} to ${last} of ${counted(total, "document")}` : searched ? "No document fits." : "The model has no documents.";
  at("documents-count").textContent = complete ? which : `${which} The search was ended after two seconds: there may be more.`;
  at("documents-newer").disabled = offset === 0;
  at("documents-older").disabled = last >= total;
  at("documents-list").replaceChildren(...documents.map(item));
}

function item(found) {
  const acts = make("p", { class: "act" });
  if (found.text !== null && !found.cut) acts.append(button("link", "Show its labels and reasons", () => open(found)));
  if (state.health?.writable && state.health.model.updatable) acts.append(button("link", "Delete…", () => askDelete(found)));
  const text = found.text === null ? "" : found.text.length > SHORT ? `${found.text.slice(0, SHORT)} …` : found.text;
  return make(
    "li",
    { class: "voter" },
    make("p", { class: "who" }, documentName(found)),
    make("p", { class: "words", dir: "auto" }, text),
    make("ul", { class: "tags", "aria-label": "Its labels" }, ...found.labels.map((label) => make("li", { class: "tag" }, named(shownName(label))))),
    acts,
  );
}

function askDelete(found) {
  const box = at("delete-box");
  at("delete-title").replaceChildren("Delete ", named(found.title ?? found.id), "?");
  at("delete-yes").onclick = () => {
    box.close();
    change(() => remove(found), tell);
  };
  box.showModal();
  at("delete-no").focus();
}

async function remove(found) {
  const answer = await askWithToken("forget", { ids: [found.id] });
  if (answer === undefined) {
    tell(make("p", {}, "Not deleted: there was no token."));
    return;
  }
  await showModel();
  await showDocuments();
  tell(make("p", {}, "Deleted ", named(found.id), ". The model has forgotten it."));
  at("documents-title").focus();
}

function tell(...parts) {
  at("documents-told").replaceChildren(...parts);
}

const searchSoon = after(WAIT_TYPING, () => {
  offset = 0;
  showDocuments();
});
for (const id of ["documents-query", "documents-label"]) at(id).addEventListener("input", searchSoon);
at("documents-newer").addEventListener("click", () => turn(-AT_ONCE));
at("documents-older").addEventListener("click", () => turn(AT_ONCE));
at("delete-no").addEventListener("click", () => at("delete-box").close());

async function turn(by) {
  offset = Math.max(0, offset + by);
  await showDocuments();
  at("documents-title").focus();
}

whenShown("#/documents", showDocuments);
