// Elements, numbers and waiting: what every other module needs.

const SVG = "http://www.w3.org/2000/svg";

export const at = (id) => document.getElementById(id);

const number = new Intl.NumberFormat("en");
export const counted = (count, thing) => `${number.format(count)} ${thing}${count === 1 ? "" : "s"}`;
export const percent = (share) => (share > 0 && share < 0.005 ? "<1%" : `${Math.round(share * 100)}%`);

// Label names and texts come from strangers: they only ever become text nodes and attribute values.
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}
export function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
export const named = (name) => make("bdi", {}, name);

export function button(look, text, act, attributes = {}) {
  const made = make("button", { type: "button", class: look, ...attributes }, ...[text].flat());
  made.addEventListener("click", act);
  return made;
}

// A link to somewhere else, for addresses of the web only: nothing that a stranger wrote is ever run.
export function linked(address, ...children) {
  if (!/^https?:\/\/[^\s]+$/i.test(address ?? "")) return make("span", {}, ...children);
  return make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

export function after(wait, act) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };
}

export const quoted = (text) => `“${text}”`;
