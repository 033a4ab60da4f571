// The map: the text among the documents of its cluster.

import { at, draw, filled, make, named, percent } from "./dom.js";
import { Refused, ask } from "./server.js";
import { state } from "./state.js";

const SHOWN_POINTS = 300; // beside the voters

export const map = {
  answer: null,
  points: [],
  current: null, // the point that is described
  close: false, // whether only the voters are shown
  voted: new Set(), // those of whom it is known that they voted for the open label; points name only their first labels
};
const WIDTH = 400;
const EDGE = 22;

export async function showMap(text) {
  let answer;
  try {
    answer = await ask("map", { text, points: SHOWN_POINTS }, { newest: "map" });
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 503) throw error;
    noMap(error.message);
    return;
  }
  map.answer = answer;
  if (answer.text) drawMap();
  else noMap("This text has no place on a map: the model knows none of its words.");
}

export function noMap(told) {
  at("map-hint").textContent = told;
  showMapParts(false);
  at("drawing").replaceChildren();
  map.points = [];
}

function showMapParts(shown) {
  at("map-hint").hidden = shown;
  at("map-shown").hidden = !shown;
  at("zoom").hidden = !shown;
}

function drawMap() {
  const { text, points } = map.answer;
  const voters = points.filter((point) => point.share > 0);
  const distance = (point) => Math.hypot(point.x - text.x, point.y - text.y);
  const others = map.close ? [] : points.filter((point) => !point.share).sort((one, other) => distance(one) - distance(other));
  const place = placing([text, ...voters, ...others]);
  const most = Math.max(...voters.map((point) => point.share));
  const held = map.points.find((point) => point.mark === document.activeElement); // who goes from point to point stays there
  map.points = [
    { own: true, labels: [], ...place.of(text) },
    ...voters.map((point) => ({ ...point, ...place.of(point), radius: 4 + 5 * Math.sqrt(point.share / most) })),
    ...others.map((point) => ({ ...point, share: 0, ...place.of(point), radius: 2.5 })),
  ];
  for (const point of map.points) {
    point.mark = point.own
      ? draw("path", { class: "own", d: diamond(point.left, point.top, 9) })
      : draw("circle", { class: point.share ? "vote" : "other", cx: point.left, cy: point.top, r: point.radius });
    if (point.own || point.share) name(point);
  }
  const drawing = draw(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${place.height}`, role: "group", "aria-label": "Map of the documents near the text. Arrow keys go from point to point." },
    ...map.points.map((point) => point.mark).reverse(),
  );
  const first = map.points.find((point) => held && point.id === held.id) ?? map.points[0];
  name(first);
  first.mark.setAttribute("tabindex", "0");
  at("drawing").replaceChildren(drawing);
  showMapParts(true);
  colourMap();
  if (held) first.mark.focus();
  else showPoint(first);
}

// One scale for both directions, so that distances can be compared.
function placing(points) {
  const range = (key) => {
    const values = points.map((point) => point[key]);
    return [Math.min(...values), Math.max(...values)];
  };
  const [left, right] = range("x");
  const [low, high] = range("y");
  const wide = Math.max(right - left, 1e-9);
  const tall = Math.max(high - low, 1e-9);
  const height = Math.min(WIDTH, Math.max(240, (tall / wide) * (WIDTH - 2 * EDGE) + 2 * EDGE));
  const scale = Math.min((WIDTH - 2 * EDGE) / wide, (height - 2 * EDGE) / tall);
  const of = ({ x, y }) => ({
    left: WIDTH / 2 + (x - (left + right) / 2) * scale,
    top: height / 2 - (y - (low + high) / 2) * scale,
  });
  return { of, height };
}

const diamond = (left, top, size) => `M${left} ${top - size}l${size} ${size}l${-size} ${size}l${-size} ${-size}z`;

const votesOf = (point) => (point.share ? `${percent(point.share)} of the votes` : "did not vote");

// Of the hundreds that did not vote, a screen reader is told only when the reader goes to one.
function name(point) {
  const told = point.own ? "Your text" : `${point.id}, ${votesOf(point)}: ${point.labels.join(", ")}`;
  filled(point.mark, { role: "img", "aria-label": told, tabindex: "-1" }, []);
}

export function colourMap() {
  at("map").classList.toggle("all", state.open === null);
  let some = state.open === null; // whether anybody voted for what is open
  for (const { mark, labels, id, share } of map.points) {
    const has = labels.includes(state.open) || map.voted.has(id);
    mark.classList.toggle("has", has);
    some ||= has && share > 0;
  }
  const sign = (name, ...shape) => draw("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, draw(name, ...shape));
  const dot = (look) => sign("circle", { cx: 7, cy: 7, r: 5, class: look });
  const key = [
    [sign("path", { d: diamond(7, 7, 6), class: "own" }), "your text"],
  ];
  if (some) key.push([dot("vote has"), state.open === null ? "voted" : make("span", {}, "voted for ", named(state.open))]);
  if (state.open !== null) key.push([dot("vote"), "other votes"]);
  if (!map.close) key.push([dot("other"), "others nearby"]);
  at("key").replaceChildren(...key.map(([shape, text]) => make("li", {}, shape, text)));
}

function showPoint(point) {
  if (!point) return; // the drawing went away under the pointer
  map.current?.mark.classList.remove("at");
  map.current = point;
  point.mark.classList.add("at");
  if (point.own) {
    at("point").replaceChildren(
      make("p", {}, make("strong", {}, "Your text")),
      make("p", { class: "quiet" }, "Near it are documents that the model finds like it. Point at one, or go from one to the next with the arrow keys."),
    );
    return;
  }
  const tags = point.labels.map((label) => make("li", { class: label === state.open ? "tag same" : "tag" }, named(label)));
  at("point").replaceChildren(
    make("p", {}, make("strong", {}, named(point.id)), " ", make("span", { class: "quiet" }, votesOf(point))),
    make("ul", { class: "tags", "aria-label": "Its labels" }, ...tags),
  );
}

function showNearest(event) {
  const box = at("drawing").firstElementChild?.getBoundingClientRect();
  if (!box) return;
  const left = ((event.clientX - box.left) / box.width) * WIDTH;
  const top = ((event.clientY - box.top) / box.width) * WIDTH;
  let nearest = null;
  let least = 24;
  for (const point of map.points) {
    const away = Math.hypot(point.left - left, point.top - top) - (point.share || point.own ? 4 : 0);
    if (away < least) [nearest, least] = [point, away];
  }
  if (nearest && nearest !== map.current) showPoint(nearest);
}

function step(event) {
  const last = map.points.length - 1;
  const here = map.points.findIndex((point) => point.mark === document.activeElement);
  const next = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: last }[event.key];
  if (next === undefined || here < 0) return;
  event.preventDefault();
  const point = map.points[Math.max(0, Math.min(last, next))];
  name(point);
  map.points[here].mark.setAttribute("tabindex", "-1");
  point.mark.setAttribute("tabindex", "0");
  point.mark.focus();
}

// On the HTML element around the drawing: an SVG element that listens for the focus would be a stop of its own for Tab.
const frame = at("drawing");
frame.addEventListener("pointermove", showNearest);
frame.addEventListener("pointerdown", showNearest);
frame.addEventListener("pointerleave", (event) => {
  if (event.pointerType === "mouse") showPoint(map.points.find((point) => point.mark === document.activeElement) ?? map.points[0]);
});
frame.addEventListener("focusin", (event) => showPoint(map.points.find((point) => point.mark === event.target)));
frame.addEventListener("keydown", step);
at("zoom").addEventListener("click", () => {
  map.close = !map.close;
  at("zoom").textContent = map.close ? "Show the others too" : "Show only the voters";
  drawMap();
});
