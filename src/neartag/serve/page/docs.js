// The API page: each request of openapi.json with its fields, its answers, and a form to try it.

import { at, make } from "./dom.js";

const BODY = "application/json";
let readingNeedsToken = false;

async function begin() {
  const health = await fetch("health");
  readingNeedsToken = health.ok && (await health.json()).needs_token;
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`The server answered with error ${answer.status}.`);
  const description = await answer.json();
  at("about").textContent = `version ${description.info.version}. ${description.info.description}`;
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) at("paths").append(section(method.toUpperCase(), path, operation, description));
  }
}

function section(method, path, operation, description) {
  const id = `${method}${path.replaceAll(/[/{}]/g, "-")}`;
  const sheet = make(
    "section",
    { class: "sheet api", id, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, make("code", {}, `${method} ${path}`)),
    make("p", {}, operation.description ?? operation.summary),
  );
  if (operation.security) sheet.append(make("p", { class: "quiet" }, "Needs the server's token: Authorization: Bearer TOKEN"));
  const [kind, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [null, null];
  const schema = content ? resolve(content.schema, description) : null;
  const fields = schema ? propertiesOf(schema, description) : [];
  const rows = [...(operation.parameters ?? []).map((each) => [each.name, typeOf(each.schema, description), each.schema.default, each.description]), ...fields];
  if (kind && kind !== BODY) sheet.append(make("p", { class: "quiet" }, `The body is a file, sent as ${kind}.`));
  if (rows.length) sheet.append(table(["field", "type", "default", "what it is"], rows));
  sheet.append(answers(operation, description));
  if (kind === null || kind === BODY) sheet.append(trial(method, path, operation, schema?.examples?.[0]));
  return sheet;
}

function propertiesOf(schema, description) {
  const needed = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, field]) => [name, typeOf(field, description), needed.has(name) ? "needed" : field.default, field.description]);
}

function answers(operation, description) {
  const rows = Object.entries(operation.responses).map(([status, answer]) => {
    const schema = Object.values(answer.content ?? {})[0]?.schema;
    return [status, schema ? typeOf(schema, description) : "", undefined, answer.description];
  });
  const shape = Object.values(operation.responses["200"]?.content ?? {})[0]?.schema;
  const fields = (shape ? [shape, ...(shape.anyOf ?? [])] : []).flatMap((each) => propertiesOf(resolve(each, description), description));
  const details = make("details", { "aria-label": "Answers" }, make("summary", {}, "Answers"));
  if (fields.length) details.append(table(["field", "type", "", "what it is"], fields.map(([name, type, , about]) => [name, type, undefined, about])));
  details.append(table(["status", "answer", "", "when"], rows));
  return details;
}

function table(head, rows) {
  const shown = head.map((title, place) => place !== 2 || rows.some((row) => row[2] !== undefined));
  const kept = (row) => row.filter((cell, place) => shown[place]);
  const line = (cell, row) => kept(row).map((each) => make(cell, {}, each === undefined ? "" : typeof each === "string" ? each : JSON.stringify(each)));
  return make(
    "div",
    { class: "scroll" },
    make("table", {}, make("thead", {}, make("tr", {}, ...line("th", head))), make("tbody", {}, ...rows.map((row) => make("tr", {}, ...line("td", row))))),
  );
}

function resolve(schema, description) {
  const name = schema.$ref?.split("/").pop();
  return name ? description.components.schemas[name] : schema;
}

function typeOf(schema, description) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map((each) => typeOf(each, description)).join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items, description) : "values"}`;
  const bounds = [schema.minimum, schema.maximum].some((each) => each !== undefined) ? ` (${schema.minimum ?? ""} to ${schema.maximum ?? ""})` : "";
  return `${schema.enum ? schema.enum.join(" or ") : (schema.type ?? "anything")}${bounds}`;
}

function trial(method, path, operation, example) {
  const id = `${method}${path.replaceAll(/[/{}]/g, "-")}`;
  const form = make("form", { class: "stack" });
  const inputs = new Map();
  const field = (name, made) => {
    made.id = `${id}-${name}`;
    inputs.set(name, made);
    form.append(make("div", {}, make("label", { class: "field", for: made.id }, name), made));
  };
  for (const { name, schema } of operation.parameters ?? []) field(name, make("input", { value: schema.default ?? "", autocomplete: "off" }));
  if (method === "POST") {
    const body = make("textarea", { spellcheck: "false" });
    body.value = JSON.stringify(example ?? {}, null, 2);
    field("body", body);
  }
  if (operation.security || readingNeedsToken) field("token", make("input", { type: "password", autocomplete: "off" }));
  const output = make("pre", { role: "status", tabindex: "0", "aria-label": "Answer" });
  form.append(make("div", { class: "act" }, make("button", { class: "plain" }, "Send")), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = (operation.parameters ?? []).map((each) => [each.name, inputs.get(each.name).value, each.in]);
    const values = given.filter(([, value, place]) => value !== "" && place === "query");
    const query = values.length ? `?${new URLSearchParams(values.map(([name, value]) => [name, value]))}` : "";
    const parts = given.filter(([, , place]) => place === "path");
    const whole = parts.reduce((made, [name, value]) => made.replace(`{${name}}`, encodeURIComponent(value)), path);
    const headers = method === "POST" ? { "Content-Type": BODY } : {};
    for (const [name, value, place] of given) if (value !== "" && place === "header") headers[name] = value;
    if (inputs.get("token")?.value) headers.Authorization = `Bearer ${inputs.get("token").value}`;
    output.textContent = await sent(`${whole.slice(1)}${query}`, { method, headers, body: inputs.get("body")?.value });
  });
  return make("details", { "aria-label": "Try it" }, make("summary", {}, "Try it"), form);
}

async function sent(path, request) {
  try {
    const answer = await fetch(path, { ...request, cache: "no-store" });
    const text = await answer.text();
    const json = answer.headers.get("content-type")?.startsWith(BODY);
    return `${answer.status}\n${json ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
  } catch (error) {
    return `The server does not answer: ${error.message}`;
  }
}

begin().catch((error) => {
  at("told").textContent = error.message;
});
