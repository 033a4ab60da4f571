// What the page shows now. Modules read it; each part is changed by one module.

export const state = {
  text: "", // the text that the labels are of
  labels: [], // the answer, as many as were asked for
  found: true, // whether the model knows anything of the text
  threshold: 0, // labels below this score are not shown
  language: "", // of the names by which labels are shown; "": the labels themselves
  names: new Map(), // names by language of the labels that answers have told of
  open: null, // the label whose reasons are shown
  reasons: null, // the promise of the reasons of this text
  calibrated: false, // whether scores are probabilities, or else shares of the votes
  decided: new Map(), // what the reader said of labels: true to keep, false to take away
  editing: null, // the document whose labels are corrected, its id and labels to offer; null for a new one
  newId: null, // the id that a new document gets; null: the server chooses
  health: null, // what the server last said about itself
};

// The name by which a label is shown: that of its concept in the language that was chosen, where it has one.
export function shownName(label) {
  return state.names.get(label)?.[state.language] ?? label;
}

// Takes the names that an answer has of its labels.
export function learnNames(names) {
  for (const [label, each] of Object.entries(names ?? {})) if (each) state.names.set(label, each);
}
