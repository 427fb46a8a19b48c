// page.js reacts to the reader: search, order, zoom, and choosing a bar.

const wall = Math.max(doc.wall, 1);
const SHORTEST = Math.min(wall, 5); // of the time that the chart can show, in milliseconds

// draw draws what has changed, once for each frame.
let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawRun();
    drawRows();
    drawBrush();
  });
}

// drawAll draws everything, after a change of the size or the colors.
function drawAll() {
  readColors();
  drawOverview();
  draw();
}

// show makes the chart show the time from one moment to another.
function show(from, to) {
  const length = Math.min(wall, Math.max(SHORTEST, to - from));
  view.from = Math.min(wall - length, Math.max(0, from));
  view.to = view.from + length;
  byId("range").textContent = "Shown: " + place(view.from) + " to " + place(view.to);
  byId("out").disabled = byId("all").disabled = length >= wall;
  byId("in").disabled = length <= SHORTEST;
  draw();
}

// zoom shows a time that is longer by a factor, and keeps one moment in its place.
function zoom(factor, around = (view.from + view.to) / 2) {
  const length = Math.min(wall, Math.max(SHORTEST, (view.to - view.from) * factor));
  const part = (around - view.from) / (view.to - view.from);
  show(around - part * length, around + (1 - part) * length);
}

const pan = part => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

// ---- order and search

// slow returns the time that a worker alone needed. Workers enter and leave the other phases together.
const slow = w => doc.own.reduce((sum, p) => sum + w.spent[p], 0);

function arrange() {
  const words = byId("search").value.trim().toLowerCase();
  const order = byId("sort").value;
  const found = workers.filter(w => w.name.toLowerCase().includes(words) || w.node.toLowerCase().includes(words));
  const weight = order === "slow" ? slow : w => w.spent[Number(order)];
  view.order = order === "name" ? found : found.sort((a, b) => weight(b) - weight(a) || a.index - b.index);
  const [n, all] = [found.length.toLocaleString("en"), workers.length.toLocaleString("en")];
  byId("count").textContent = words ? `${n} of ${all} workers` : `${all} ${workers.length === 1 ? "worker" : "workers"}`;
  byId("space").style.height = found.length * rowHeight() + "px";
  if (byId("totals").open) writeTotals();
  draw();
}

byId("search").addEventListener("input", () => { byId("rows").scrollTop = 0; arrange(); });
byId("sort").addEventListener("change", () => { byId("rows").scrollTop = 0; arrange(); });

// ---- choosing

// element returns a new element with text, which is never read as HTML.
function element(name, text, className = "") {
  const e = document.createElement(name);
  e.textContent = text;
  e.className = className;
  return e;
}

// titled returns the title of a span: the color and the name of its phase, and its length.
function titled(w, span) {
  const name = doc.phases[w.phase[span]];
  const title = element("p", "", "title");
  title.append(element("span", "", "swatch " + name), element("strong", name), " " + duration(w.at[span + 1] - w.at[span]));
  return title;
}

// named returns the name of a worker and its node.
function named(w) {
  const line = element("p", "", "worker");
  line.append(element("bdi", w.name), w.node ? " on " : "", element("bdi", w.node));
  return line;
}

// between says when a span was.
function between(w, span) {
  const [from, to] = [w.at[span], w.at[span + 1]];
  const attempt = doc.phases[w.phase[span]] === "running" ? attemptAt(from) : undefined;
  return `${place(from)} to ${place(to)}, ${clock(from)} to ${clock(to)}` + (attempt ? `, attempt ${attempt.number}` : "");
}

// sentence says what a mark means.
function sentence(m) {
  let text = place(m.at) + "  " + m.kind.replaceAll("-", " ");
  if (m.times > 1) text += ` (${m.times} ranks, the first)`;
  else if (m.rank >= 0) text += ` (rank ${m.rank})`;
  return m.text ? text + ": " + m.text : text;
}

const MOST_EVENTS = 8; // that are listed for a span

// eventsOf returns a list of the events in a span; an event at its end belongs to the next one.
function eventsOf(marks, from, to, most) {
  const found = marks.filter(m => m.at >= from && (m.at < to || to >= doc.wall && m.at <= to));
  const list = element("ul", "", "events");
  for (const m of found.slice(0, most)) list.append(element("li", sentence(m), m.bad ? "bad" : ""));
  if (found.length > most) list.append(element("li", `and ${found.length - most} more events`));
  return list;
}

// choose shows a span and its events below the chart, and moves the chart to it.
function choose(worker, span) {
  hideTip();
  view.chosen = { worker, span };
  const [from, to] = [worker.at[span], worker.at[span + 1]];
  byId("detail").replaceChildren(titled(worker, span), named(worker), element("p", between(worker, span), "times"), eventsOf(worker.marks, from, to, MOST_EVENTS));
  const [rows, row, i] = [byId("rows"), rowHeight(), view.order.indexOf(worker)];
  if (i >= 0 && i * row < rows.scrollTop) rows.scrollTop = i * row;
  if (i >= 0 && (i + 1) * row > rows.scrollTop + rows.clientHeight) rows.scrollTop = (i + 1) * row - rows.clientHeight;
  if (to <= view.from || from >= view.to) show((from + to) / 2 - (view.to - view.from) / 2, (from + to) / 2 + (view.to - view.from) / 2);
  draw();
}

// longest returns the worker's longest span in a phase.
function longest(w, phase) {
  let best = 0;
  w.phase.forEach((p, i) => {
    const took = w.at[i + 1] - w.at[i];
    if (p === phase && (w.phase[best] !== phase || took > w.at[best + 1] - w.at[best])) best = i;
  });
  return best;
}

for (const button of document.querySelectorAll("button.go")) {
  button.addEventListener("click", () => {
    const worker = workers[Number(button.dataset.worker)];
    const phase = Number(button.dataset.phase);
    byId("search").value = "";
    if ([...byId("sort").options].some(o => o.value === String(phase))) byId("sort").value = String(phase);
    arrange();
    choose(worker, longest(worker, phase));
    byId("workers-title").scrollIntoView({ block: "start" });
    byId("rows").focus({ preventScroll: true });
  });
}

// ---- pointer

const bars = byId("bars");
const timeAt = x => view.from + Math.min(1, Math.max(0, x / bars.clientWidth)) * (view.to - view.from);

// hit returns the worker and span at a place of the chart, or null. A mark near it counts as its span.
function hit(event) {
  const box = bars.getBoundingClientRect();
  const i = Math.floor((event.clientY - box.top + byId("rows").scrollTop) / rowHeight());
  const worker = view.order[i];
  const x = event.clientX - box.left;
  if (!worker || x < 0) return null;
  const near = worker.marks.filter(m => Math.abs(xOf(m.at, bars.clientWidth) - x) < 6);
  const mark = near.find(m => m.bad) || near[0];
  return { worker, span: spanAt(worker, mark ? mark.at : timeAt(x)), mark };
}

function showTip(event, children) {
  const tip = byId("tip");
  tip.replaceChildren(...children);
  tip.hidden = false;
  const [w, h] = [tip.offsetWidth, tip.offsetHeight];
  const left = event.clientX + 14 + w > innerWidth ? event.clientX - w - 14 : event.clientX + 14;
  const below = event.clientY + 18 + h < innerHeight;
  tip.style.left = Math.max(4, Math.min(left, innerWidth - w - 4)) + "px";
  tip.style.top = Math.max(4, below ? event.clientY + 18 : event.clientY - h - 12) + "px";
}

function hideTip() {
  byId("tip").hidden = true;
  if (view.hover) { view.hover = null; draw(); }
}

function hover(event) {
  const at = hit(event);
  if (!at) { hideTip(); return; }
  view.hover = at;
  const { worker: w, span, mark } = at;
  const events = mark ? eventsOf([mark], mark.at, mark.at + 1, 1) : eventsOf(w.marks.filter(m => m.text), w.at[span], w.at[span + 1], 3);
  showTip(event, [titled(w, span), named(w), element("p", between(w, span), "times"), events]);
  draw();
}

// fingers holds the pointers that are down on the chart. One pans, and two zoom.
const fingers = new Map();
let moved = 0; // in pixels, since the first pointer is down

bars.addEventListener("pointerdown", event => {
  if (event.button !== 0) return;
  if (!fingers.size) moved = 0;
  fingers.set(event.pointerId, event);
  bars.setPointerCapture(event.pointerId);
});

bars.addEventListener("pointermove", event => {
  const before = fingers.get(event.pointerId);
  if (!before) {
    if (event.pointerType === "mouse") hover(event);
    return;
  }
  hideTip();
  const left = bars.getBoundingClientRect().left;
  if (fingers.size === 2) {
    const other = [...fingers.values()].find(f => f.pointerId !== event.pointerId);
    const [was, is] = [Math.abs(before.clientX - other.clientX), Math.abs(event.clientX - other.clientX)];
    if (was > 8 && is > 8) zoom(was / is, timeAt((event.clientX + other.clientX) / 2 - left));
    moved = Infinity;
  } else {
    moved += Math.abs(event.clientX - before.clientX);
    if (moved > 4) pan((before.clientX - event.clientX) / bars.clientWidth);
  }
  fingers.set(event.pointerId, event);
});

bars.addEventListener("pointerup", event => {
  if (!fingers.delete(event.pointerId) || moved > 4) return;
  const at = hit(event);
  if (!at) return;
  choose(at.worker, at.span);
  if (event.pointerType !== "mouse") byId("detail").scrollIntoView({ block: "nearest" });
});
bars.addEventListener("pointercancel", event => fingers.delete(event.pointerId));
bars.addEventListener("pointerleave", hideTip);
bars.addEventListener("dblclick", event => {
  const at = hit(event);
  if (!at) return;
  const [from, to] = [at.worker.at[at.span], at.worker.at[at.span + 1]];
  show(from - (to - from) / 10, to + (to - from) / 10);
});

byId("rows").addEventListener("wheel", event => {
  const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
  if (event.ctrlKey || event.metaKey) {
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), timeAt(event.clientX - bars.getBoundingClientRect().left));
  } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
    pan(sideways / bars.clientWidth);
  } else return; // the list of workers scrolls
  event.preventDefault();
}, { passive: false });
byId("rows").addEventListener("scroll", () => { hideTip(); draw(); });

byId("run").addEventListener("pointermove", event => {
  const canvas = byId("run");
  const x = event.clientX - canvas.getBoundingClientRect().left;
  const near = runMarks.filter(m => Math.abs(xOf(m.at, canvas.clientWidth) - x) < 6);
  const attempt = attempts.find(a => xOf(a.from, canvas.clientWidth) <= x && x <= xOf(a.to, canvas.clientWidth));
  const lines = near.slice(0, 5).map(m => element("p", sentence(m)));
  if (attempt) lines.unshift(element("p", attemptLabel(attempt) + ", " + duration(attempt.to - attempt.from), "title"), element("p", attempt.text));
  if (lines.length) showTip(event, lines); else hideTip();
});
byId("run").addEventListener("pointerleave", hideTip);

// ---- brush: a drag over the overview chooses a time

let anchor = null;
const overview = byId("overview-track");
const wholeTimeAt = event => {
  const box = byId("overview").getBoundingClientRect();
  return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * wall;
};
overview.addEventListener("pointerdown", event => {
  anchor = wholeTimeAt(event);
  overview.setPointerCapture(event.pointerId);
});
overview.addEventListener("pointermove", event => {
  if (anchor === null) return;
  const at = wholeTimeAt(event);
  if (Math.abs(at - anchor) > wall / 200) show(Math.min(anchor, at), Math.max(anchor, at));
});
overview.addEventListener("pointerup", event => {
  const at = wholeTimeAt(event);
  const half = (view.to - view.from) / 2;
  if (anchor !== null && Math.abs(at - anchor) <= wall / 200) show(at - half, at + half);
  anchor = null;
});
overview.addEventListener("pointercancel", () => { anchor = null; });

// ---- keyboard

// step chooses the next worker or span.
function step(down, right) {
  const { worker, span } = view.chosen || { worker: view.order[0], span: -1 };
  if (!worker) return;
  const i = Math.max(0, view.order.indexOf(worker));
  const next = view.order[Math.min(view.order.length - 1, Math.max(0, i + down))];
  if (next !== worker) { choose(next, spanAt(next, (Math.max(view.from, worker.at[Math.max(0, span)]) + Math.min(view.to, worker.at[Math.max(0, span) + 1])) / 2)); return; }
  choose(worker, Math.min(worker.phase.length - 1, Math.max(0, span + right)));
}

const KEYS = {
  ArrowUp: () => step(-1, 0), ArrowDown: () => step(1, 0), ArrowLeft: () => step(0, -1), ArrowRight: () => step(0, 1),
  PageUp: () => step(-10, 0), PageDown: () => step(10, 0), Home: () => step(-Infinity, 0), End: () => step(Infinity, 0),
  "+": () => zoom(1 / 1.5), "=": () => zoom(1 / 1.5), "-": () => zoom(1.5), 0: () => show(0, wall), Escape: () => show(0, wall),
  w: () => zoom(1 / 1.5), s: () => zoom(1.5), a: () => pan(-.2), d: () => pan(.2),
};
byId("rows").addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  KEYS[event.key]();
  event.preventDefault();
});
byId("in").addEventListener("click", () => zoom(1 / 1.5));
byId("out").addEventListener("click", () => zoom(1.5));
byId("all").addEventListener("click", () => show(0, wall));

// ---- table of all workers

const MOST_ROWS = 1000; // of the table

function writeTotals() {
  const present = doc.phases.map((_, p) => p).filter(p => workers.some(w => w.spent[p] > 0));
  const head = element("tr", "");
  for (const text of ["worker", "node", ...present.map(p => doc.phases[p] + " (s)")]) {
    const cell = element("th", text, text.endsWith("(s)") ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const lines = view.order.slice(0, MOST_ROWS).map(w => {
    const line = element("tr", "");
    const name = element("th", w.name);
    name.scope = "row";
    line.append(name, element("td", w.node), ...present.map(p => element("td", (w.spent[p] / 1e3).toFixed(2), "number")));
    return line;
  });
  const [top, body] = [element("thead", ""), element("tbody", "")];
  top.append(head);
  body.append(...lines);
  byId("worker-table").replaceChildren(top, body);
  byId("totals-note").textContent = view.order.length > MOST_ROWS ? `The first ${MOST_ROWS} workers in the order above. Search to see others.` : "";
}
byId("totals").addEventListener("toggle", () => { if (byId("totals").open) writeTotals(); });

// ---- begin

new ResizeObserver(drawAll).observe(byId("rows"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
readColors();
arrange();
show(0, wall);
drawOverview();
requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("chart")));
