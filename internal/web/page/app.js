// The page: the verdict, the fault rules, what the broker remembers of each
// producer, and the events as they come. It shows what the API says; all words
// about a verdict or a rule are the server's. Text of clients only ever becomes
// text nodes.
"use strict";

const MOST_ROWS = 500; // of the table of events
const MOST_KEPT = 5000; // events, to choose from by topic
const MOST_WINDOWS = 24; // shown, those that moved last
const MOST_FOLLOWED = 200; // windows
const WINDOW = 5; // batches that a broker remembers of a producer
const MOST_FINDINGS = 20; // of a kind and topic
const SETTLE = 400; // ms without a new verdict after one was asked for
const POLL = 5000; // ms; counters of rules move without an event, too

const EXAMPLES = [
  "disconnect after produce attempt=1 times=all",
  "drop after produce",
  "error NOT_LEADER_OR_FOLLOWER before produce nth=3",
  "error REQUEST_TIMED_OUT after produce",
  "delay 2s after produce every=10 times=all",
];

const $ = (id) => document.getElementById(id);

// el makes an element. A child is an element, a text or nothing.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null && c !== false && c !== ""));
  return e;
}

// parse reads JSON. Whole numbers beyond what a double holds stay text.
function parse(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && context ? context.source : value);
}

// ask sends a request; what is thrown has the server's error, want and near.
async function ask(method, path, body) {
  let response;
  try {
    response = await fetch(path, { method, body, headers: body === undefined ? {} : { "Content-Type": "text/plain" } });
  } catch {
    throw { error: "the server does not answer" };
  }
  const text = await response.text();
  if (!response.ok) throw text.startsWith("{") ? parse(text) : { error: `${response.status} ${response.statusText}` };
  return text === "" ? undefined : parse(text);
}

const plural = (n, one, many) => `${n} ${n === 1 ? one : many || one + "s"}`;
const span = (first, last) => (first === last ? `${first}` : `${first}–${last}`);

// --- the verdict ---

const COUNTS = [
  ["records", "record"], ["batches", "batch", "batches"], ["producers", "producer"],
  ["acks_lost", "ack lost", "acks lost"], ["replayed", "replay answered", "replays answered"],
  ["acks_false", "ack replaced by an error", "acks replaced by an error"],
  ["acks_not_due", "batch without ack", "batches without ack"],
  ["out_of_order", "out of order", "out of order"], ["fenced", "fenced", "fenced"], ["refused", "refused", "refused"],
  ["not_asked", "lost before the broker", "lost before the broker"],
];

function counts(of) {
  const shown = COUNTS.filter(([key], i) => i < 2 || of[key] > 0);
  return el("p", { class: "counts" }, ...shown.map(([key, one, many]) =>
    el("span", {}, el("b", {}, `${of[key]}`), plural(of[key], one, many).slice(`${of[key]}`.length))));
}

function findings(topic, kind) {
  const all = topic[kind] || [];
  const lines = all.slice(0, MOST_FINDINGS).map((f) =>
    el("li", {}, el("span", { class: "tag bad" }, kind.replace("_", " ")), " ", f.text,
      kind === "duplicated" && f.rule && el("span", { class: "cause" }, "caused by ", el("code", {}, f.rule))));
  const more = topic.totals[kind] - lines.length;
  if (more > 0) lines.push(el("li", {}, `and ${more} more`));
  return lines;
}

function topicCard(t) {
  const found = ["duplicated", "missing", "unconfirmed", "swallowed", "in_hand"].flatMap((kind) => findings(t, kind));
  const notes = [t.note, ...(t.limits || [])].filter(Boolean);
  return el("article", { class: `card ${t.exactly_once ? "good" : "bad"}` },
    el("h3", {}, t.exactly_once ? "✓ " : "✗ ", t.topic, t.deleted && " (deleted)", t.exactly_once ? " is exactly once" : " is not exactly once"),
    counts(t.counts),
    found.length > 0 && el("ul", { class: "findings" }, ...found),
    ...notes.map((n) => el("p", { class: "near" }, n)));
}

function showVerdict(v) {
  const cards = v.topics.map(topicCard);
  if (cards.length === 0) {
    cards.push(el("p", { class: "hint" }, "No batch was produced yet. Point a producer at ", el("code", {}, $("kafka").textContent), "."));
  }
  for (const limit of v.limits || []) cards.push(el("p", { class: "near" }, limit));
  replace($("verdict"), cards);
}

// replace puts children in place of those that are there, unless they look the
// same: what did not change is not announced, and keeps the focus.
function replace(parent, children) {
  const next = el("div", {}, ...children);
  if (next.innerHTML !== parent.innerHTML) parent.replaceChildren(...next.childNodes);
}

// --- the fault rules ---

function ruleItem(r) {
  const state = r.fired > 0 ? "good" : r.seen > 0 ? "warn" : "";
  return el("li", { class: `card ${state}` },
    el("div", {},
      el("code", {}, r.sentence),
      el("p", {}, r.english),
      el("p", { class: "counts" }, el("span", {}, "fired ", el("b", {}, `${r.fired}`)), el("span", {}, "matched ", el("b", {}, `${r.matched}`)),
        el("span", {}, "seen ", el("b", {}, `${r.seen}`)), r.unable > 0 && el("span", {}, "unable ", el("b", {}, `${r.unable}`))),
      r.near_miss && el("p", { class: "near" }, `never fired: ${r.near_miss}`, r.near && `; did you mean ${r.near}?`)),
    el("button", { type: "button", class: "small", "aria-label": `Remove ${r.sentence}`, "data-rule": r.name || r.sentence }, "Remove"));
}

function showRules(rules) {
  $("clear").hidden = rules.length < 2;
  replace($("rules"), rules.length > 0 ? rules.map(ruleItem)
    : [el("li", { class: "hint" }, "No rule is in force: every answer arrives.")]);
}

function showProblem(p) {
  const s = p.syntax;
  $("sentence").setAttribute("aria-invalid", "true");
  $("problem").replaceChildren(
    el("span", {}, p.error), p.want ? el("span", {}, `want ${p.want}`) : "",
    s && s.near ? el("button", { type: "button", class: "small", onclick: () => mend(s) }, `Use “${s.near}”`) : "");
  if (s && s.word) select(s);
}

// places gives the ends of the wrong word as an input counts: the server counts
// bytes.
function places(s) {
  const bytes = new TextEncoder().encode(s.sentence);
  const length = (to) => new TextDecoder().decode(bytes.subarray(0, to)).length;
  return [length(s.offset), length(s.offset + new TextEncoder().encode(s.word).length)];
}

function select(s) {
  if ($("sentence").value !== s.sentence) return;
  $("sentence").focus();
  $("sentence").setSelectionRange(...places(s));
}

function mend(s) {
  const [from, to] = places(s);
  say(s.sentence.slice(0, from) + s.near + s.sentence.slice(to));
}

// say puts a sentence into the field.
function say(sentence) {
  $("sentence").value = sentence;
  noProblem();
  $("sentence").focus();
}

function noProblem() {
  $("sentence").removeAttribute("aria-invalid");
  $("problem").replaceChildren();
}

// change does something to the rules or the events, and shows what came of it.
async function change(method, path, body) {
  try {
    await ask(method, path, body);
    noProblem();
    return true;
  } catch (p) {
    showProblem(p);
    return false;
  } finally {
    refresh();
  }
}

// --- what the broker remembers ---

const windows = new Map(); // by topic, partition and producer; those that moved last stand last

function windowOf(e) {
  const key = JSON.stringify([e.topic, e.partition, e.producer_id]);
  const w = windows.get(key) || { born: e.number, event: e, epoch: e.epoch, boxes: [], refusal: "" };
  windows.delete(key);
  windows.set(key, w);
  if (windows.size > MOST_FOLLOWED) windows.delete(windows.keys().next().value);
  return w;
}

// remember moves the window of the producer that an event is about.
function remember(e) {
  if (e.kind !== "batch" || e.producer_id === -1) return;
  const w = windowOf(e);
  const { outcome, base_offset } = e.done;
  switch (outcome) {
    case "accepted":
      if (e.epoch !== w.epoch) w.boxes = [];
      w.epoch = e.epoch;
      w.refusal = "";
      w.boxes.push(box(e));
      w.boxes = w.boxes.slice(-WINDOW);
      break;
    case "duplicate": {
      const hit = w.boxes.find((b) => b.base === base_offset && b.first === e.first_sequence);
      if (hit) { hit.replays++; hit.flash = true; }
      break;
    }
    case "out_of_order": case "fenced": case "refused":
      w.refusal = `refused ${span(e.first_sequence, e.last_sequence)} of epoch ${e.epoch}: ${e.done.reason}`;
  }
}

function box(e) {
  const node = el("div", { class: "box new", role: "listitem", onanimationend: () => node.classList.remove("new", "hit") },
    el("b", {}, span(e.first_sequence, e.last_sequence)), el("span", {}, `offset ${e.done.base_offset}`));
  return { first: e.first_sequence, base: e.done.base_offset, replays: 0, flash: false, replayed: el("em"), node };
}

function showBox(b) {
  if (b.replays > 0) {
    b.replayed.textContent = plural(b.replays, "replay");
    b.node.append(b.replayed);
    b.node.classList.add("replayed");
  }
  if (b.flash) {
    b.flash = false;
    b.node.classList.remove("new", "hit");
    void b.node.offsetWidth; // so that the animation starts anew
    b.node.classList.add("hit");
  }
  return b.node;
}

function showWindows() {
  const shown = [...windows.values()].slice(-MOST_WINDOWS).sort((a, b) => a.born - b.born);
  const cards = shown.map((w) => {
    w.node ||= el("article", { class: "window card" });
    w.boxesNode ||= el("div", { class: "boxes", role: "list" });
    w.node.replaceChildren(
      el("h3", {}, `${w.event.topic}-${w.event.partition}, producer ${w.event.producer_id} `, el("small", {}, `epoch ${w.epoch}`)),
      w.boxesNode, w.refusal ? el("p", { class: "refusal" }, w.refusal) : "");
    const empty = Array.from({ length: WINDOW - w.boxes.length }, () => el("div", { class: "box empty", role: "listitem" }, "empty"));
    const nodes = [...w.boxes.map(showBox), ...empty];
    // Boxes that stay are not touched: an element that moves loses its animation.
    if (nodes.length !== w.boxesNode.childElementCount || nodes.some((n, i) => n !== w.boxesNode.children[i])) {
      for (const old of [...w.boxesNode.children]) if (!nodes.includes(old)) old.remove();
      nodes.forEach((n) => { if (n.parentNode !== w.boxesNode) w.boxesNode.append(n); });
    }
    w.node.classList.toggle("bad", w.refusal !== "");
    return w.node;
  });
  const more = windows.size - cards.length;
  if (more > 0) cards.push(el("p", { class: "hint" }, `and ${more} more`));
  if (cards.length === 0) cards.push(el("p", { class: "hint" }, "Nothing yet. A producer without idempotence has no window: each of its batches counts as new."));
  const grid = $("windows");
  if (cards.length !== grid.childElementCount || cards.some((c, i) => c !== grid.children[i])) grid.replaceChildren(...cards);
}

// --- the events ---

let events = []; // the newest last
let fresh = []; // not shown yet
let missed = 0;
let frame = 0;

const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hour12: false });

const DONE = { accepted: "good", duplicate: "replay", handled: "", not_asked: "warn", out_of_order: "bad", fenced: "bad", refused: "bad" };

function done(e) {
  const d = e.done;
  switch (d.outcome) {
    case "accepted": return [`accepted at ${d.base_offset}`];
    case "duplicate": return [`duplicate of ${d.base_offset}`];
    case "handled": return ["carried out"];
    case "not_asked": return [e.told.answer === "answered" ? "refused before the broker" : "lost before the broker"];
    case "refused": return ["refused", d.reason];
  }
  return [d.reason];
}

function told(e) {
  switch (e.told.answer) {
    case "closed": return el("span", { class: "tag warn" }, "connection closed");
    case "lost": return el("span", { class: "tag warn" }, "answer lost");
    case "not_due": return "no answer due";
  }
  if (e.told.code !== 0) return el("span", { class: "tag bad" }, ...breakable(e.told.error));
  return e.kind === "batch" ? "acknowledged" : "answered";
}

// breakable lets the name of an error go on in the next line.
function breakable(name) {
  return name.split("_").flatMap((word, i) => (i === 0 ? [word] : ["_", el("wbr"), word]));
}

function subject(e) {
  if (e.kind !== "batch") return [e.api];
  const who = e.producer_id === -1 ? `${plural(e.records, "record")} without producer id`
    : `producer ${e.producer_id}/${e.epoch}, ${e.first_sequence === e.last_sequence ? "sequence" : "sequences"} ${span(e.first_sequence, e.last_sequence)}`;
  return [el("strong", {}, `${e.topic}-${e.partition}`), " ", el("small", {}, who + (e.attempt > 1 ? `, delivery ${e.attempt}` : ""))];
}

function row(e) {
  const [what, why] = done(e);
  const cell = (...children) => el("td", { role: "cell" }, ...children);
  return el("tr", { role: "row" },
    cell(`${e.number}`),
    cell(clock.format(new Date(e.time))),
    cell(e.client || "no client id", " ", el("small", {}, `connection ${e.connection}`)),
    cell(...subject(e)),
    cell(el("span", { class: `tag ${DONE[e.done.outcome]}` }, what), why && " ", why && el("small", {}, why)),
    cell(told(e)),
    cell(...(e.rules || []).map((r) => el("code", {}, r))));
}

const wanted = (e) => $("topic").value === "" || e.topic === $("topic").value;
const paused = () => $("pause").getAttribute("aria-pressed") === "true";

function take(e) {
  remember(e);
  events.push(e);
  fresh.push(e);
  if (events.length > 2 * MOST_KEPT) events = events.slice(-MOST_KEPT);
  if (fresh.length > 2 * MOST_KEPT) fresh = fresh.slice(-MOST_KEPT);
  soon();
  settle();
}

// soon draws what came, once for all events of a moment.
function soon() {
  frame ||= requestAnimationFrame(() => { frame = 0; draw(); });
}

function draw() {
  showWindows();
  offerTopics();
  $("missed").hidden = missed === 0;
  $("missed").textContent = `${plural(missed, "event is", "events are")} not shown here: of older events only those out of the ordinary are kept.`;
  $("pause").textContent = !paused() ? "Pause" : fresh.length === 0 ? "Resume" : `Resume (${fresh.length} new)`;
  if (paused()) return;
  const rows = fresh.filter(wanted).slice(-MOST_ROWS).reverse().map(row);
  fresh = [];
  const body = $("events");
  body.querySelector(".none")?.parentNode.remove();
  body.prepend(...rows);
  while (body.childElementCount > MOST_ROWS) body.lastElementChild.remove();
  if (body.childElementCount === 0) body.append(el("tr", { role: "row" }, el("td", { class: "none", colspan: 7, role: "cell" }, "No events.")));
}

// redraw shows the rows of the topic that is chosen.
function redraw() {
  fresh = events.slice();
  $("events").replaceChildren();
  draw();
}

const topics = new Set();

function offerTopics() {
  for (const e of fresh) {
    if (!e.topic || topics.has(e.topic)) continue;
    topics.add(e.topic);
    $("topic").append(el("option", { value: e.topic }, e.topic));
  }
}

// forget is what the page does when the server has forgotten.
function forget() {
  windows.clear();
  events = [];
  missed = 0;
  $("windows").replaceChildren();
  redraw();
  settle();
}

// --- how it is kept up to date ---

let busy = false;
let again = false;

// refresh asks for the verdict and the rules, one request at a time.
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const [verdict, rules] = await Promise.all([ask("GET", "/verdict"), ask("GET", "/faults")]);
    showVerdict(verdict);
    showRules(rules);
  } catch {
    // The line about the stream of events says so.
  } finally {
    busy = false;
    if (again) { again = false; settle(); }
  }
}

let settling = 0;

// settle refreshes a moment after something happened.
function settle() {
  settling ||= setTimeout(() => { settling = 0; refresh(); }, SETTLE);
}

function follow() {
  const source = new EventSource("/events?since=0");
  source.onopen = () => { $("live").textContent = "live"; };
  source.onerror = () => {
    $("live").textContent = "not connected; trying again";
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, POLL);
  };
  for (const kind of ["batch", "request"]) source.addEventListener(kind, (m) => take(parse(m.data)));
  source.addEventListener("lost", (m) => { missed += parse(m.data).lost; soon(); });
  source.addEventListener("reset", forget);
}

async function begin() {
  for (const sentence of EXAMPLES) {
    $("examples").append(el("button", { type: "button", class: "small", onclick: () => say(sentence) }, sentence));
  }
  $("add").addEventListener("submit", async (event) => {
    event.preventDefault();
    const sentence = $("sentence").value;
    if (await change("POST", "/faults", sentence)) $("sentence").value = "";
  });
  $("sentence").addEventListener("input", noProblem);
  $("rules").addEventListener("click", (event) => {
    const rule = event.target.dataset.rule;
    if (rule) change("DELETE", `/faults/${encodeURIComponent(rule)}`);
  });
  $("clear").addEventListener("click", () => change("DELETE", "/faults"));
  $("reset").addEventListener("click", async () => {
    if (confirm("Forget all events and counters? Topics, records and rules stay.") && await change("POST", "/reset")) forget();
  });
  $("pause").addEventListener("click", () => { $("pause").setAttribute("aria-pressed", `${!paused()}`); draw(); });
  $("topic").addEventListener("change", redraw);
  draw();
  try {
    const health = await ask("GET", "/healthz");
    $("kafka").textContent = health.kafka.join(" ") || "nowhere";
    $("seed").textContent = health.seed;
    $("version").textContent = health.version;
  } catch (p) {
    $("version").textContent = p.error;
  }
  refresh();
  follow();
  setInterval(() => { if (!document.hidden) refresh(); }, POLL);
}

begin();
