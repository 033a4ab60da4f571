// The views of the page, by the address behind #: one text, a file, what to look at next, the documents.

import { at } from "./dom.js";

const VIEWS = { "#/": "view-text", "#/file": "view-file", "#/review": "view-review", "#/documents": "view-documents" };
const shown = new Map(); // what to do when a view is shown

export function whenShown(view, act) {
  shown.set(view, act);
}

export function show(address, { focus = true } = {}) {
  const here = address in VIEWS ? address : "#/";
  for (const [each, id] of Object.entries(VIEWS)) at(id).hidden = each !== here;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.getAttribute("href") === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (focus) at(VIEWS[here]).querySelector("h2")?.focus({ preventScroll: true });
  shown.get(here)?.();
}

export function go(address) {
  if (location.hash === address || (address === "#/" && !location.hash)) show(address);
  else location.hash = address;
}

window.addEventListener("hashchange", () => show(location.hash || "#/"));
