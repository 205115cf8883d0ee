"use strict";
// The console: one page over the server's own paths. Texts are put into the page as text, never as
// markup, so nothing that an event or a subscription holds can become part of the page.

const $ = (id) => document.getElementById(id);
const KEPT = 20; // recent events
let token = sessionStorage.getItem("token") || "";
let served = {};

// ---- asking the server ----

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch {
    throw new Error("The server does not answer.");
  }
  if (response.status === 401) $("token-form").hidden = false;
  const text = await response.text();
  let told = {};
  try { told = text ? JSON.parse(text) : {}; } catch { /* a proxy's page */ }
  if (!response.ok) {
    const failure = new Error(told.error ? told.error.message : `${response.status} ${response.statusText}`);
    failure.told = told.error || {};
    throw failure;
  }
  return told;
}

const post = (path, value, type = "application/json") =>
  ask(path, { method: "POST", headers: { "content-type": type }, body: typeof value === "string" ? value : JSON.stringify(value) });

function show(error) {
  $("failure").hidden = !error;
  $("failure").textContent = error ? error.message : "";
}

function guarded(action) {
  return async (event) => {
    if (event) event.preventDefault();
    show(null);
    try { await action(event); } catch (error) { show(error); }
  };
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const member = (id) => `/subscriptions/${encodeURIComponent(id)}?type=${typeof id === "number" ? "integer" : "string"}`;

// ---- tabs, by mouse and by arrow keys ----

const tabs = [...document.querySelectorAll("[role=tab]")];

function choose(tab, focus) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", String(chosen));
    other.tabIndex = chosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  show(null);
  if (tab.id === "tab-charts") draw();
}

tabs.forEach((tab, at) => {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) choose(tabs[(at + step + tabs.length) % tabs.length], true);
    else if (event.key === "Home") choose(tabs[0], true);
    else if (event.key === "End") choose(tabs[tabs.length - 1], true);
    else return;
    event.preventDefault();
  });
});

// ---- subscriptions ----

let after = null;

async function list(fresh) {
  const form = new FormData($("search"));
  const query = new URLSearchParams({ limit: "50" });
  for (const [name, value] of form) if (value) query.set(name, value);
  if (!fresh && after) query.set("after", after);
  const page = await ask(`/subscriptions?${query}`);
  if (fresh) $("rows").replaceChildren();
  for (const one of page.subscriptions) {
    const row = element("tr");
    row.append(element("td", String(one.id)), element("td", one.expression ?? one.xpath ?? "takes every event"));
    row.append(element("td", one.metadata === undefined ? "" : JSON.stringify(one.metadata)));
    const cell = element("td");
    const edit = element("button", "Edit", "plain");
    edit.setAttribute("aria-label", `Edit ${one.id}`);
    edit.addEventListener("click", () => fill(one));
    cell.append(edit);
    row.append(cell);
    $("rows").append(row);
  }
  after = page.next;
  $("more").hidden = !after;
  const shown = $("rows").childElementCount;
  $("count").textContent = shown || after ? `${shown} shown, ${page.total} in all` : "Nothing found";
}

$("search").addEventListener("submit", guarded(() => list(true)));
$("more").addEventListener("click", guarded(() => list(false)));

// ---- writing an expression ----

let edited = null; // the id that is edited, with its type

function fill(one) {
  edited = one.id;
  const form = $("editor");
  form.elements.id.value = one.id;
  form.elements.expression.value = one.expression ?? one.xpath ?? "";
  form.elements.metadata.value = one.metadata === undefined ? "" : JSON.stringify(one.metadata);
  choose($("tab-write"), true);
  check();
}

function underline(text, error) {
  const mark = $("underline");
  mark.replaceChildren();
  if (!error || !error.line) { mark.textContent = text; return; }
  const lines = text.split("\n");
  const before = lines.slice(0, error.line - 1).map((line) => [...line].length + 1).reduce((a, b) => a + b, 0);
  const letters = [...text];
  const begin = Math.min(before + error.column - 1, letters.length);
  const wrong = letters.slice(begin).join("").match(/^(\s*'[^']*'?|\s*[\w.]+|\s*\S)?/)[0] || " ";
  mark.append(letters.slice(0, begin).join(""), element("mark", wrong), letters.slice(begin).join("").slice(wrong.length));
}

let asked = 0;

async function check() {
  const text = $("expression").value;
  const number = ++asked;
  if (!text.trim()) {
    underline(text, null);
    $("verdict").textContent = $("canonical").textContent = "";
    return;
  }
  const told = await post("/check", { expression: text });
  if (number !== asked) return; // the text has changed meanwhile
  underline(text, told.valid ? null : told.error);
  $("expression").setAttribute("aria-invalid", String(!told.valid));
  $("verdict").className = told.valid ? "true" : "false";
  $("verdict").textContent = told.valid ? "Valid" : told.error.message;
  $("canonical").textContent = told.valid ? told.expression ?? told.xpath : "";
}

let typing = 0;
$("expression").addEventListener("input", () => {
  underline($("expression").value, null);
  clearTimeout(typing);
  typing = setTimeout(guarded(check), 150);
});

$("editor").addEventListener("submit", guarded(async () => {
  const form = $("editor").elements;
  $("saved").textContent = "";
  if (!form.id.value) throw new Error("The subscription needs an id.");
  const body = { expression: form.expression.value };
  if (form.metadata.value.trim()) {
    try { body.metadata = JSON.parse(form.metadata.value); } catch { throw new Error("The metadata is invalid JSON."); }
  }
  const id = String(edited) === form.id.value ? edited : form.id.value;
  const told = await ask(member(id), { method: "PUT", body: JSON.stringify(body) });
  $("saved").textContent = `Saved, version ${told.version}`;
  await list(true);
}));

$("remove").addEventListener("click", guarded(async () => {
  const form = $("editor").elements;
  $("saved").textContent = "";
  const id = String(edited) === form.id.value ? edited : form.id.value;
  const told = await ask(member(id), { method: "DELETE" });
  $("saved").textContent = `Removed, version ${told.version}`;
  await list(true);
}));

// ---- trying events ----

function tree(node) {
  const item = element("li");
  const place = node.element === undefined ? "" : `[${node.element}]: `;
  const label = element("span", `${node.truth}  ${place}${node.text}`, node.truth);
  item.append(label);
  if (node.seen !== undefined) {
    const seen = Array.isArray(node.seen) ? node.seen.map((value) => JSON.stringify(value)).join(", ") : node.seen;
    item.append(element("span", ` ${node.attribute ?? "it"} is ${seen}`, "quiet"));
  }
  if (node.size !== undefined) {
    item.append(element("span", ` satisfied by ${node.satisfied} of ${node.size} elements`, "quiet"));
  }
  const below = node.children ?? node.elements;
  if (below) {
    const inner = element("ul");
    below.forEach((child) => inner.append(tree(child)));
    item.append(inner);
  }
  return item;
}

function explanation(one) {
  const box = element("div");
  box.append(element("h3", `${one.id}: ${one.matched ? "matches" : "does not match"}`, one.matched ? "true" : "false"));
  const list = element("ul", undefined, "tree");
  const inactive = one.tree?.inactive;
  if (inactive) {
    const end = inactive.active_from ? `from ${inactive.active_from}` : `until ${inactive.active_until}`;
    list.append(element("li", `active ${end}, and now is ${inactive.now}`, "false"));
  }
  if (one.tree) list.append(tree(one.tree));
  for (const part of one.parts || []) list.append(tree({ ...part, truth: String(part.truth) }));
  box.append(list);
  return box;
}

async function answer(text) {
  const box = element("article", undefined, "answer");
  box.append(element("h2", text));
  const xml = served.kind === "filter" ? "application/xml" : "application/json";
  try {
    const found = await post("/match", text, xml);
    box.append(element("p", found.matches.length ? `Matches ${found.matches.length}: ${found.matches.slice(0, 50).join(", ")}` : "Matches nothing"));
    const query = new URLSearchParams();
    found.matches.slice(0, 5).forEach((id) => query.append("id", id));
    if ($("explained").value) query.append("id", $("explained").value);
    if ([...query].length) {
      const why = await post(`/explain?${query}`, text, xml);
      why.explanations.forEach((one) => box.append(explanation(one)));
    }
  } catch (error) {
    box.append(element("p", error.message, "false"));
  }
  return box;
}

$("events").addEventListener("submit", guarded(async () => {
  const text = $("event").value.trim();
  if (!text) throw new Error("There is no event.");
  let events = [text];
  if (served.kind !== "filter") {
    try { JSON.parse(text); } catch { events = text.split("\n").filter((line) => line.trim()); }
  }
  const boxes = [];
  for (const one of events.slice(0, 50)) boxes.push(await answer(one));
  $("answers").replaceChildren(...boxes);
}));

// Events that matched come over the stream, and can be picked.
const recent = [];

async function listen() {
  for (;;) {
    try {
      const headers = token ? { authorization: `Bearer ${token}` } : {};
      const response = await fetch("/stream", { headers });
      if (!response.ok) throw new Error(String(response.status));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        parts.filter((part) => part.startsWith("data: ")).forEach((part) => remember(JSON.parse(part.slice(6))));
      }
    } catch { /* it is tried again */ }
    await new Promise((resume) => setTimeout(resume, 3000));
  }
}

function remember(happening) {
  recent.unshift(happening);
  recent.length = Math.min(recent.length, KEPT);
  const options = recent.map((one, at) => {
    const text = typeof one.event === "string" ? one.event : JSON.stringify(one.event);
    const option = element("option", `${one.matches.length} matched: ${text.slice(0, 80)}`);
    option.value = String(at + 1);
    return option;
  });
  const first = element("option", "Pick one");
  first.value = "";
  $("recent").replaceChildren(first, ...options);
}

$("recent").addEventListener("change", () => {
  const one = recent[Number($("recent").value) - 1];
  if (one) $("event").value = typeof one.event === "string" ? one.event : JSON.stringify(one.event);
});

// ---- findings ----

$("examine").addEventListener("click", guarded(async () => {
  const told = await ask("/findings");
  $("findings").replaceChildren(...told.findings.map((one) => {
    const item = element("li");
    item.append(element("strong", String(one.id)), ` ${one.message}`);
    return item;
  }));
  $("examined").textContent = `${told.findings.length} findings in ${told.examined} of ${told.total} subscriptions`;
}));

// ---- charts ----

const SVG = "http://www.w3.org/2000/svg";

function plot(figure, series, names, scale) {
  const svg = $(figure);
  svg.replaceChildren();
  const most = Math.max(1e-9, ...names.flatMap((name) => series.map((one) => one[name] * scale)));
  names.forEach((name, at) => {
    const path = document.createElementNS(SVG, "path");
    const points = series.map((one, x) => {
      const across = series.length > 1 ? 10 + (x / (series.length - 1)) * 580 : 10;
      return `${across.toFixed(1)},${(160 - (one[name] * scale / most) * 130).toFixed(1)}`;
    });
    path.setAttribute("d", points.length ? `M${points.join("L")}` : "");
    if (at) path.setAttribute("class", "second");
    svg.append(path);
    const label = document.createElementNS(SVG, "text");
    label.setAttribute("x", String(10 + at * 290));
    label.setAttribute("y", "18");
    const last = series.length ? series[series.length - 1][name] * scale : 0;
    label.textContent = `${at ? "- - " : "— "}${name}: ${+last.toFixed(2)} (most ${+Math.max(0, ...series.map((one) => one[name] * scale)).toFixed(2)})`;
    svg.append(label);
  });
}

async function draw() {
  if ($("charts").hidden) return;
  const stats = await ask("/stats");
  const series = stats.series.slice(-300);
  plot("throughput", series, ["requests", "events"], 1);
  plot("latency", series, ["p50", "p99"], 1000);
  $("totals").textContent = `${stats.events} events, ${stats.matches} matches, ${stats.refused} refused`;
  $("most").replaceChildren(...stats.most.map((one) => element("li", `${one.id}: ${one.matches}`)));
  $("never").replaceChildren(...stats.never.map((id) => element("li", String(id))));
}

// ---- beginning ----

async function greet() {
  served = await ask("/stats");
  $("token-form").hidden = true;
  $("served").textContent = `${served.subscriptions} ${served.kind === "graph" ? "nodes" : "subscriptions"}, version ${served.version}, ${served.source.mode}`;
  const owned = served.source.mode === "own";
  $("save").disabled = $("remove").disabled = !owned;
  if (!owned) $("saved").textContent = "This server follows a folder: expressions are checked, not saved.";
}

$("token-form").addEventListener("submit", guarded(async () => {
  token = $("token").value;
  sessionStorage.setItem("token", token);
  await greet();
  await list(true);
}));

guarded(async () => {
  listen();
  await greet();
  await list(true);
})();
setInterval(() => { if (!document.hidden) { greet().catch(() => {}); draw().catch(() => {}); } }, 5000);
