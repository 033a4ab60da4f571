// The text that was being typed when a document or a queue took its place: kept, and brought back when that is left.

import { at } from "./dom.js";
import { stopEditing } from "./correct.js";
import { recall, remember } from "./memory.js";
import { state } from "./state.js";
import { setText } from "./tagging.js";

let draft = recall("draft"); // { text, newId, decided }

// Keeps what is in the field, unless it is a document or an item of a queue.
export function keepDraft() {
  const text = at("text").value;
  if (state.editing || !at("queue").hidden || !text.trim()) return;
  hold({ text, newId: state.newId, decided: [...state.decided] });
}

// Brings it back, or empties the field; returns whether there was one.
export function bringBack() {
  const kept = draft;
  hold(null);
  stopEditing();
  if (kept) {
    state.newId = kept.newId;
    state.decided = new Map(kept.decided);
  }
  setText(kept?.text ?? "");
  return kept !== null;
}

// A document that is emptied by hand is left too: its place may be used for something new first.
export function showDraft() {
  at("draft").hidden = draft === null || Boolean(state.editing) || !at("queue").hidden;
}

function hold(next) {
  draft = next;
  remember("draft", draft);
  showDraft();
}

at("draft").addEventListener("click", () => {
  bringBack();
  at("text").focus();
});
