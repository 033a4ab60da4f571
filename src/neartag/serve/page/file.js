// A file tagged: sent to the server, and given back with added columns.

import { at, counted, make, named, quoted } from "./dom.js";
import { lost, sendFile } from "./server.js";
import { whenShown } from "./views.js";

const PATIENCE = 75000; // milliseconds; the server gives a file more time than a text
const PREVIEWED_BYTES = 65536;
const PREVIEWED_ROWS = 8;

let address = null; // of the answer, until the next one

const READING = ["id_field", "delimiter", "quoting", "encoding", "sheet"]; // found by the server unless given

// What a request says of a file: its name, how to read it, and more.
export function fileQuery(form, file, more) {
  const query = new URLSearchParams({ name: file.name, ...more });
  const columns = form.elements.text_field.value.trim() || "text";
  for (const column of columns.split(/\s+\+\s+/)) query.append("text_field", column); // "C++" is one column
  for (const name of READING) {
    const value = form.elements[name]?.value.trim();
    if (value) query.set(name, value);
  }
  return query;
}

// A message about a file with the titles of the form's fields in place of a request's parameters.
export function inWords(message, form) {
  return message.replace(/`(\w+)`/g, (all, name) => {
    const label = form.elements[name]?.labels?.[0];
    if (!label) return name;
    label.closest("details")?.setAttribute("open", "");
    return quoted(label.textContent);
  });
}

async function tagFile() {
  const form = at("file-form");
  const [file] = form.elements.file.files;
  if (!file) {
    tell(make("p", { class: "alarm" }, "Choose a file first."));
    form.elements.file.focus();
    return;
  }
  const share = Number(form.elements.threshold.value) / 100;
  const query = fileQuery(form, file, { k: form.elements.k.value, prefix: form.elements.prefix.value.trim() });
  if (share > 0) query.set("threshold", share === 1 ? "1" : share.toFixed(2));
  tell(make("p", {}, `Tagging ${file.name}…`));
  at("file-preview").replaceChildren();
  at("file-send").setAttribute("aria-disabled", "true");
  try {
    const { answer, text: content } = await sendFile(`tag-file?${query}`, file, { newest: "file", patience: PATIENCE });
    await showAnswer(file.name, answer.headers, content);
  } catch (error) {
    tell(make("p", { class: "alarm" }, inWords(error.message, form)));
    lost(error, () => {});
  } finally {
    at("file-send").removeAttribute("aria-disabled");
  }
}

async function showAnswer(name, headers, content) {
  const count = (which) => Number(headers.get(`x-neartag-${which}`));
  const target = decodeURIComponent(headers.get("content-disposition")?.split("''")[1] ?? name);
  if (address) URL.revokeObjectURL(address);
  address = URL.createObjectURL(content);
  const unknown = count("not-found");
  const rest = unknown ? ` Nothing is known of ${counted(unknown, "row")}, where found is false.` : "";
  tell(
    make("p", {}, `${counted(count("rows"), "row")}, of which ${counted(count("with-labels"), "row").replace(/ rows?$/, "")} got labels.${rest}`),
    make("p", { class: "quiet" }, `Read as: ${decodeURIComponent(headers.get("x-neartag-read-as") ?? "")}.`),
    make("p", {}, make("a", { class: "main download", href: address, download: target }, "Save ", named(target))),
  );
  const delimiter = decodeURIComponent(headers.get("x-neartag-delimiter") ?? "");
  if (delimiter) at("file-preview").replaceChildren(...preview(await content.slice(0, PREVIEWED_BYTES).text(), delimiter));
}

function preview(text, delimiter) {
  const [head, ...rows] = cells(text.replace(/^\ufeff/, ""), delimiter, PREVIEWED_ROWS + 1);
  if (!head || !rows.length) return [];
  const line = (kind, row) => make("tr", {}, ...row.map((cell) => make(kind, { dir: "auto" }, cell.length > 120 ? `${cell.slice(0, 120)} …` : cell)));
  return [
    make("h3", { class: "quiet" }, "The first rows"),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first rows" }, make("table", {}, make("thead", {}, line("th", head)), make("tbody", {}, ...rows.map((row) => line("td", row))))),
  ];
}

// The first rows of CSV as the server writes it: quotes are doubled inside quotes.
function cells(text, delimiter, most) {
  const rows = [[""]];
  let quoted = false;
  for (let place = 0; place < text.length; place += 1) {
    const sign = text[place];
    const row = rows[rows.length - 1];
    if (quoted && sign === '"' && text[place + 1] === '"') row[row.length - 1] += text[(place += 1)];
    else if (sign === '"') quoted = !quoted;
    else if (!quoted && sign === delimiter) row.push("");
    else if (!quoted && sign === "\n") {
      if (rows.length === most) return rows;
      rows.push([""]);
    } else row[row.length - 1] += sign;
  }
  return rows.slice(0, -1); // the last is empty, or cut off
}

function tell(...parts) {
  at("file-told").replaceChildren(...parts);
}

at("file-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (at("file-send").getAttribute("aria-disabled") !== "true") tagFile();
});
whenShown("#/file", () => {});
