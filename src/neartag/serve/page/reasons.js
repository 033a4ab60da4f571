// Why a label is there: its concept, the words of the text, and the documents that voted for it.

import { linked, make, named, percent } from "./dom.js";
import { shownName, state } from "./state.js";

const FIRST_VOTERS = 5; // shown at once
const SHORT = 420; // characters of a text that are shown at first
const AROUND = 60; // characters shown on either side of a shared word

export function why(reason, text, { spans, refined }) {
  const parts = [...conceptLine(reason), make("p", { class: "quiet" }, whyInWords(reason, refined))];
  if (reason.found === "frequency") return parts;
  const shared = new Map(); // words that voters have in common with the text
  for (const voter of reason.voters) {
    for (const { word, weight } of voter.words) shared.set(word, Math.max(weight, shared.get(word) ?? 0));
  }
  const most = Math.max(...shared.values());
  const weighed = new Map(reason.words.map(({ word, weight }) => [word, weight]));
  const marks = weighed.size
    ? marksOf(spans, weighed, Math.max(...[...weighed.values()].map(Math.abs)))
    : marksOf(spans, shared, most);
  parts.push(make("div", {}, make("h3", { class: "quiet" }, "Your text"), ...shown(text, marks), ...weighedWords(reason.words)));
  if (!reason.voters.length) return parts;
  const strongest = reason.voters.length === 1 ? "The document that voted for it" : "The documents that voted most for it";
  const items = reason.voters.map((voter) => voterItem(voter, reason.label, most));
  const list = make("ol", { class: "voters" }, ...items.slice(0, FIRST_VOTERS));
  parts.push(make("div", {}, make("h3", { class: "quiet" }, strongest), list));
  if (items.length > FIRST_VOTERS) {
    const rest = items.slice(FIRST_VOTERS);
    const more = make("button", { type: "button", class: "link" }, `Show ${rest.length} more`);
    more.addEventListener("click", () => {
      list.append(...rest);
      rest[0].tabIndex = -1; // so that reading goes on where the button was
      rest[0].focus();
      more.remove();
    });
    parts[parts.length - 1].append(more);
  }
  return parts;
}

// The label in a vocabulary: its URI, and what other languages call it.
function conceptLine({ label, uri, names }) {
  const others = Object.entries(names ?? {}).filter(([, name]) => name !== label);
  if (!uri && !others.length) return [];
  const line = make("p", { class: "quiet concept" });
  if (uri) line.append(linked(uri, uri), " ");
  for (const [language, name] of others) {
    line.append(make("span", { class: "tag" }, language ? `${language}: ` : "", make("bdi", { lang: language }, name)));
  }
  return [line];
}

// What speaks for a label, in a sentence or three.
function whyInWords({ share, score, words, found }, refined) {
  if (found === "frequency") return "No document voted: the model knows none of these words, and gives the labels that are most frequent.";
  const votes = found === "votes"
    ? `${percent(share)} of the votes came from documents that have this label.`
    : "No document near your text has this label: it came up because its documents, taken together, use words of your text.";
  if (refined) {
    const ranker = words.length ? " Its ranker weighed the words of your text." : "";
    return `${votes}${ranker} On texts held out from training, answers like this one were right ${percent(score)} of the time.`;
  }
  return state.calibrated ? `${votes} On texts held out from training, that many votes were right ${percent(score)} of the time.` : votes;
}

function weighedWords(words) {
  const line = (title, look, sign, some) =>
    make(
      "p",
      { class: "weighed" },
      make("span", { class: "quiet" }, title),
      ...some.flatMap(({ word, weight }, place) => [
        place ? ", " : " ",
        named(word),
        make("span", { class: look }, `\u00a0${sign}${Math.abs(weight).toFixed(2)}`),
      ]),
    );
  const both = [
    line("Words for it:", "for", "+", words.filter(({ weight }) => weight > 0)),
    line("Words against it:", "against", "−", words.filter(({ weight }) => weight < 0)),
  ];
  return both.filter((each) => each.childElementCount > 1);
}

// A document by its title where it has one, else by its id; it leads to where it stands, where its id is an address.
export function documentName({ id, title, link }) {
  const name = make("strong", {}, linked(link, named(title ?? id)));
  return title ? make("span", {}, name, " ", make("span", { class: "quiet" }, named(id))) : name;
}

const listed = (words) => words.flatMap(({ word }, place) => [place ? ", " : "", named(word)]);

function voterItem(voter, label, most) {
  const tags = voter.labels.map((each) => make("li", { class: each === label ? "tag same" : "tag" }, named(shownName(each))));
  const item = make(
    "li",
    { class: "voter" },
    make("p", { class: "who" }, documentName(voter), make("span", { class: "quiet" }, `${percent(voter.share)} of the votes`)),
  );
  // The document's own words, which may be others than the text's: "chessboard" for "chess" and "board".
  const weights = new Map(voter.spans.map(([, , word, weight]) => [word, weight]));
  if (typeof voter.text === "string") {
    item.append(make("div", {}, ...shown(voter.cut ? `${voter.text} …` : voter.text, marksOf(voter.spans, weights, most))));
  } else if (voter.words.length) {
    item.append(make("p", {}, "In common: ", ...listed(voter.words)));
  }
  // Of your text, by a sentence encoder: the document itself may have none of these words.
  if (voter.meaning?.length) item.append(make("p", { class: "quiet" }, "Near in meaning by: ", ...listed(voter.meaning)));
  item.append(make("ul", { class: "tags", "aria-label": "Its labels" }, ...tags));
  return item;
}

// The places of words that have a weight, in three levels of it; places count UTF-16 units, as strings do here.
function marksOf(spans, weights, most) {
  return spans
    .filter(([, , word]) => weights.get(word))
    .map(([start, end, word]) => {
      const weight = weights.get(word);
      const level = `l${Math.min(3, 1 + Math.floor((3 * Math.abs(weight)) / most))}`;
      return { start, end, look: weight < 0 ? `against ${level}` : level };
    });
}

// A text with its marks; of a long one what is around the marks, and a button for the rest.
function shown(text, marks) {
  const place = make("p", { class: "words", dir: "auto" });
  if (text.length <= SHORT) {
    place.append(...marked(text, marks, 0, text.length));
    return [place];
  }
  const parts = excerpt(text, marks);
  const short = () => parts.flatMap(([start, end]) => [start ? " … " : "", ...marked(text, marks, start, end), end < text.length ? " …" : ""]);
  const button = make("button", { type: "button", class: "link", "aria-expanded": "false" }, "Show all of it");
  let whole = false;
  const turn = () => {
    place.replaceChildren(...(whole ? marked(text, marks, 0, text.length) : short()));
    button.setAttribute("aria-expanded", String(whole));
    button.textContent = whole ? "Show less" : "Show all of it";
  };
  button.addEventListener("click", () => {
    whole = !whole;
    turn();
  });
  turn();
  return [place, button];
}

function excerpt(text, marks) {
  const edge = (unit) => {
    const kept = Math.max(0, Math.min(text.length, unit));
    const code = text.charCodeAt(kept);
    return code >= 0xdc00 && code < 0xe000 ? kept - 1 : kept; // never half a character
  };
  const parts = [[0, edge(2 * AROUND)]];
  let length = 2 * AROUND;
  for (const mark of marks) {
    const last = parts[parts.length - 1];
    const start = edge(mark.start - AROUND);
    const end = edge(mark.end + AROUND);
    if (length + end - Math.max(start, last[1]) > SHORT) break;
    length += Math.max(0, end - Math.max(start, last[1]));
    if (start <= last[1]) last[1] = Math.max(last[1], end);
    else parts.push([start, end]);
  }
  return parts;
}

function marked(text, marks, from, to) {
  const parts = [];
  let place = from;
  for (const { start, end, look } of marks) {
    if (start < place || end > to) continue;
    parts.push(text.slice(place, start), make("mark", { class: look }, text.slice(start, end)));
    place = end;
  }
  return [...parts, text.slice(place, to)];
}

