// Finding a label by what is typed: known labels first; a new one is a separate act, which is confirmed.

import { after, at, button, counted, make, named, quoted } from "./dom.js";
import { ask, drop, lost } from "./server.js";
import { learnNames, shownName } from "./state.js";

const WAIT_FINDING = 120; // milliseconds
const OFFERED = 8;
const BETWEEN = /\s*[,;|\n]\s*/; // what people write between labels

export const finder = at("finder");
const found = at("found");
let chosen = -1;
let taken = () => {};

// Calls act(label, isNew) for each label that is taken.
export function whenTaken(act) {
  taken = act;
}

// Suggestions and what is taken are asked for apart: neither may end the other.
const lookUp = (typed, kind = "taken", limit = 1) =>
  ask(`labels?prefix=${encodeURIComponent(typed)}&limit=${limit}`, undefined, { newest: kind });

async function find() {
  const typed = finder.value.trim();
  if (!typed) {
    close();
    return;
  }
  try {
    const answer = await lookUp(typed, "suggested", OFFERED);
    if (finder.value.trim() === typed && document.activeElement === finder) show(typed, answer);
  } catch (error) {
    close();
    lost(error, () => {});
  }
}
const findSoon = after(WAIT_FINDING, find);

function show(typed, { labels, points, uris, names, known, closed }) {
  learnNames(Object.fromEntries(labels.map((label, place) => [label, names[place]])));
  const options = labels.map((label, place) => {
    const shown = shownName(label);
    const others = [...new Set([label, ...Object.values(names[place])])].filter((name) => name !== shown);
    const told = [counted(points[place], "document"), ...others.slice(0, 3), ...(uris[place] ? [uris[place]] : [])];
    return [() => take(label), make("span", { class: "one" }, named(shown), make("span", {}, told.join(" · ")))];
  });
  if (known === null && closed) {
    const told = make("span", { class: "quiet" }, named(quoted(typed)), " is not in the vocabulary, which is closed.");
    options.push([null, told]);
  } else if (known === null) {
    options.push([() => confirmNew(typed), make("span", {}, "Add new label ", make("strong", {}, named(typed)), "…")]);
  }
  found.replaceChildren(
    ...options.map(([act, text], place) => {
      const option = make("li", { role: "option", id: `found-${place}`, "aria-selected": "false" }, text);
      if (!act) option.setAttribute("aria-disabled", "true");
      option.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
      option.act = act ?? (() => {});
      option.addEventListener("click", option.act);
      return option;
    }),
  );
  found.hidden = false;
  finder.setAttribute("aria-expanded", "true");
  choose(-1);
}

function close() {
  found.hidden = true;
  found.replaceChildren();
  finder.setAttribute("aria-expanded", "false");
  choose(-1);
}

function choose(place) {
  chosen = place;
  [...found.children].forEach((option, each) => option.setAttribute("aria-selected", String(each === place)));
  if (place < 0) {
    finder.removeAttribute("aria-activedescendant");
    return;
  }
  finder.setAttribute("aria-activedescendant", `found-${place}`);
  found.children[place].scrollIntoView({ block: "nearest" });
}

function take(label, isNew = false) {
  drop("suggested");
  finder.value = "";
  tell();
  close();
  taken(label, isNew);
}

function tell(...parts) {
  at("finder-told").replaceChildren(...parts);
}

// Takes what was typed: the label that it names, or, once that is confirmed, a new one. False where nothing came of it.
export async function takeTyped() {
  const typed = finder.value.trim();
  if (!typed) return true;
  try {
    const answer = await lookUp(typed);
    if (answer.known !== null) {
      take(answer.known);
      return true;
    }
    return await confirmNew(typed, answer);
  } catch (error) {
    lost(error, (message) => tell(make("span", { class: "alarm" }, message)));
    return false;
  }
}

// ---------------------------------------------------------------- a new label

// Asks whether a label is really meant to be new, and offers what else may be meant.
async function confirmNew(typed, answer) {
  const { similar, closed } = answer ?? (await lookUp(typed));
  close();
  if (closed) {
    const told = similar.length ? [" Do you mean ", ...similarButtons(similar), "?"] : [];
    tell(make("span", { class: "alarm" }, named(quoted(typed)), " is not in the vocabulary, which is closed."), ...told);
    finder.focus();
    return false;
  }
  const parts = typed.split(BETWEEN).filter(Boolean);
  return new Promise((resolve) => {
    const box = at("label-box");
    const done = (act) => () => {
      box.close();
      act();
      resolve(true);
    };
    const choices = similar.map((label) => button("main", ["Use ", named(label)], done(() => take(label))));
    if (parts.length > 1) choices.push(button("plain", `Take it as ${parts.length} labels`, () => { box.close(); takeParts(parts).then(resolve); }));
    choices.push(button(choices.length ? "plain" : "main", ["Add new label ", named(typed)], done(() => take(typed, true))));
    at("label-title").replaceChildren("No document has the label ", named(quoted(typed)), " yet");
    at("label-why").replaceChildren(
      ...(similar.length
        ? ["The model has ", ...similar.flatMap((label, place) => [place ? ", " : "", make("strong", {}, named(label))]), ", which is written nearly the same. "]
        : []),
      parts.length > 1 ? "It looks like several labels in one. " : "",
      "A new label is suggested for other texts from now on.",
    );
    at("label-choices").replaceChildren(...choices, button("plain", "Cancel", () => box.close()));
    box.onclose = () => {
      finder.focus();
      resolve(false);
    };
    box.showModal();
    choices[0].focus();
  });
}

function similarButtons(similar) {
  return similar.map((label) => button("link", named(label), () => take(label)));
}

// One label after another, each as if it had been typed alone.
async function takeParts(parts) {
  for (const part of parts) {
    finder.value = part;
    if (!(await takeTyped())) return false;
  }
  return true;
}

finder.addEventListener("input", () => {
  tell();
  findSoon();
});
finder.addEventListener("blur", close);
finder.addEventListener("keydown", (event) => {
  const count = found.children.length;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (!count) findSoon();
    else choose((chosen + (event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1) + count) % count);
  } else if (event.key === "Enter" && !event.isComposing) {
    event.preventDefault();
    if (chosen < 0) takeTyped();
    else found.children[chosen].act();
  } else if (event.key === "Escape" && !found.hidden) {
    event.stopPropagation();
    close();
  }
});
