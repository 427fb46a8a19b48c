"use strict";
// chart.js reads the data of the page and draws it. page.js reacts to the reader.
// Times are milliseconds after the begin of the run.

const byId = id => document.getElementById(id);
const doc = JSON.parse(byId("data").textContent);

// Kinds of events that mean trouble.
const TROUBLE = new Set(["link-lost", "worker-lost", "check-problem", "out-of-memory", "broken-device", "stalled", "waiting", "stop-asked"]);
const MARK_NUMBERS = 5; // of one mark in the data

// readMarks returns the marks of a list of numbers.
function readMarks(list) {
  const marks = [];
  let at = 0;
  for (let i = 0; i < list.length; i += MARK_NUMBERS) {
    const [kind, after, rank, times, text] = list.slice(i, i + MARK_NUMBERS);
    at += after;
    const mark = { kind: doc.kinds[kind], at, rank, times, text: text < 0 ? "" : doc.texts[text] };
    const failed = mark.kind === "rank-ended" && mark.text !== "exited with 0";
    mark.bad = failed || TROUBLE.has(mark.kind);
    mark.small = mark.kind === "first-line" || mark.kind === "rank-ended" && !failed;
    mark.drawn = mark.kind !== "image-pulling"; // its span begins there
    marks.push(mark);
  }
  return marks;
}

// readWorker returns a worker. Span i is in phase[i], from at[i] to at[i + 1].
function readWorker([name, node, spans, marks], index) {
  const at = [0];
  const phase = [];
  const spent = new Float64Array(doc.phases.length);
  let now = 0;
  for (const [, letter, length] of spans.matchAll(/([A-Z])([0-9a-z]+)/g)) {
    const p = letter.charCodeAt(0) - 65;
    const took = parseInt(length, 36);
    now += took;
    spent[p] += took;
    phase.push(p);
    at.push(now);
  }
  return { index, name, node: doc.nodes[node], at, phase, spent, marks: readMarks(marks) };
}

const workers = doc.workers.map(readWorker);
const runMarks = readMarks(doc.run);
const attempts = doc.attempts.map(([number, from, to, over, exit, text]) =>
  ({ number, from, to, over: over === 1, exit, text: text < 0 ? "" : doc.texts[text] }));

// What is shown: the time from view.from to view.to, and the workers of view.order.
const view = { from: 0, to: Math.max(doc.wall, 1), order: workers, chosen: null, hover: null };

// spanAt returns the index of the worker's span at a time.
function spanAt(worker, time) {
  let low = 0;
  let high = worker.phase.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (worker.at[middle] <= time) low = middle; else high = middle - 1;
  }
  return low;
}

// attemptAt returns the attempt at a time, or undefined before the first.
const attemptAt = time => attempts.findLast(a => a.from <= time);

// duration returns milliseconds for people.
function duration(ms) {
  if (ms < 10e3) return (ms / 1e3).toFixed(2) + " s";
  if (ms < 600e3) return (ms / 1e3).toFixed(0) + " s";
  const s = Math.round(ms / 1e3);
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return (h ? h + "h" : "") + m + "m" + s % 60 + "s";
}

// place returns a time within the run for people. All places of one run have the same form.
function place(ms) {
  if (!ms) return "0";
  if (doc.wall < 600e3) return duration(ms);
  const s = Math.round(ms / 1e3);
  const h = Math.floor(s / 3600);
  return (h ? h + "h" : "") + Math.floor(s / 60) % 60 + "m" + s % 60 + "s";
}

// clock returns the time of the day.
function clock(time) {
  const at = new Date(doc.from + time);
  return isNaN(at) ? "" : at.toISOString().slice(11, 23);
}

// Colors come from the style, so that they follow the reader's choice of light or dark.
let colors;
function readColors() {
  const style = getComputedStyle(document.documentElement);
  const value = name => style.getPropertyValue("--" + name).trim();
  colors = { ground: value("ground"), text: value("text"), muted: value("muted"), line: value("line"), alarm: value("alarm"), accent: value("accent"), chosen: value("chosen") };
  colors.phases = doc.phases.map(name => filled(name, value(name)));
}

// filled returns a color, or a pattern for the phases that have one.
function filled(name, ink) {
  const draw = {
    spare: (c, n) => { for (let i = -n; i <= n; i += 4) { c.moveTo(i, n); c.lineTo(i + n, 0); } },
    lost: (c, n) => { for (let i = -n; i <= n; i += 4) { c.moveTo(i, n); c.lineTo(i + n, 0); c.moveTo(i, 0); c.lineTo(i + n, n); } },
    unknown: (c, n) => { for (let x = 1; x < n; x += 4) for (let y = 1; y < n; y += 4) c.rect(x, y, 1, 1); },
  }[name];
  if (!draw) return ink;
  const size = 8;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size * devicePixelRatio;
  const c = tile.getContext("2d");
  c.scale(devicePixelRatio, devicePixelRatio);
  c.fillStyle = colors.ground;
  c.fillRect(0, 0, size, size);
  c.strokeStyle = ink;
  c.lineWidth = 1.2;
  draw(c, size);
  c.stroke();
  const pattern = c.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / devicePixelRatio));
  return pattern;
}

// prepared returns the context of a cleared canvas that has the size of its box, and that size.
function prepared(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const [w, h] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const c = canvas.getContext("2d");
  c.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  c.clearRect(0, 0, width, height);
  return { c, width, height };
}

// xOf returns the place of a time in a chart of this width.
const xOf = (time, width) => (time - view.from) / (view.to - view.from) * width;

// edge returns where a span ends that begins at a pixel. A short span has one pixel, which moves the
// next ones by up to two.
const edge = (begin, end) => Math.max(Math.round(end), Math.min(begin + 1, Math.round(end) + 2));

// drawOverview draws how many workers are in each phase over the whole run.
function drawOverview() {
  const { c, width, height } = prepared(byId("overview"));
  const columns = Math.max(1, Math.floor(width * devicePixelRatio));
  const wide = width / columns;
  const wall = Math.max(doc.wall, 1);
  const counts = doc.phases.map(() => new Float32Array(columns));
  for (const w of workers) {
    let column = 0;
    for (let i = 0; i < w.phase.length && column < columns; i++) {
      const end = i + 1 === w.phase.length ? columns : Math.min(columns, edge(column, w.at[i + 1] / wall * columns));
      for (; column < end; column++) counts[w.phase[i]][column]++;
    }
  }
  const base = new Float32Array(columns);
  doc.phases.forEach((_, p) => {
    c.fillStyle = colors.phases[p];
    for (let x = 0; x < columns; x++) {
      if (!counts[p][x]) continue;
      const tall = counts[p][x] / workers.length * height;
      let run = 1; // neighbors that look the same are one rectangle
      while (x + run < columns && counts[p][x + run] === counts[p][x] && base[x + run] === base[x]) run++;
      c.fillRect(x * wide, base[x], run * wide, tall);
      base.fill(base[x] + tall, x, x + run);
      x += run - 1;
    }
  });
}

// ticks returns times at a round distance for the axis of a chart of this width.
function ticks(width) {
  const most = Math.max(2, width / 90);
  const least = (view.to - view.from) / most;
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 14400e3, 21600e3, 43200e3];
  const step = steps.find(s => s >= least) || Math.ceil(least / 86400e3) * 86400e3;
  const all = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) all.push(t);
  return { all, step };
}

// tick returns the label of a time on the axis.
function tick(time, step) {
  if (!time) return "0";
  if (step >= 60e3) {
    const m = Math.round(time / 60e3);
    return m >= 60 ? Math.floor(m / 60) + "h" + (m % 60 ? m % 60 + "m" : "") : m + "m";
  }
  const digits = step < 10 ? 3 : step < 100 ? 2 : step < 1e3 ? 1 : 0;
  return (time / 1e3).toFixed(digits) + " s";
}

// Heights in the track of the run: of the axis, and of the attempts below it. Marks are below them.
const AXIS = 20;
const ATTEMPT = 20;

// drawRun draws the axis, the attempts, and the events of the run.
function drawRun() {
  const { c, width, height } = prepared(byId("run"));
  c.font = getComputedStyle(document.body).font;
  c.font = c.font.replace(/[\d.]+px/, "12px");
  c.textBaseline = "middle";
  const { all, step } = ticks(width);
  for (const t of all) {
    const x = xOf(t, width);
    c.fillStyle = colors.line;
    c.fillRect(x, AXIS - 4, 1, height);
    const label = tick(t, step);
    const wide = c.measureText(label).width;
    c.fillStyle = colors.muted;
    c.fillText(label, Math.min(Math.max(0, x - wide / 2), width - wide), AXIS / 2 - 1);
  }
  for (const a of attempts) drawAttempt(c, a, width);
  drawMarks(c, runMarks, width, (AXIS + ATTEMPT + height) / 2);
}

function drawAttempt(c, a, width) {
  const [from, to] = [Math.max(0, xOf(a.from, width)), Math.min(width, xOf(a.to, width))];
  if (to < 0 || from > width) return;
  const wide = Math.max(2, to - from - 1);
  c.fillStyle = a.over && a.exit ? colors.alarm : colors.phases[doc.phases.indexOf("running")];
  c.fillRect(from, AXIS + 2, wide, 3);
  c.fillStyle = colors.chosen;
  c.fillRect(from, AXIS + 5, wide, ATTEMPT - 5);
  c.fillStyle = colors.text;
  for (const label of [attemptLabel(a), "attempt " + a.number, String(a.number)]) {
    if (c.measureText(label).width + 10 > wide) continue;
    c.fillText(label, from + 5, AXIS + ATTEMPT / 2 + 3);
    return;
  }
}

// attemptLabel says how an attempt has ended.
const attemptLabel = a => "attempt " + a.number + (a.over ? ", exit code " + a.exit : ", not ended");

// drawMarks draws events at a height: triangles for trouble, circles for others, and small ones for
// what each worker has. Of those that overlap, the first is drawn.
function drawMarks(c, marks, width, y) {
  c.lineWidth = 1.5;
  for (const bad of [false, true]) {
    let last = -Infinity;
    for (const m of marks) {
      const x = xOf(m.at, width);
      if (m.bad !== bad || !m.drawn || x < -6 || x > width + 6 || x - last < 5) continue;
      last = x;
      c.beginPath();
      if (bad) { c.moveTo(x - 5, y - 5); c.lineTo(x + 5, y - 5); c.lineTo(x, y + 4); c.closePath(); } else c.arc(x, y, m.small ? 1.8 : 3.2, 0, 7);
      c.fillStyle = bad ? colors.alarm : m.small ? colors.ground : colors.text;
      c.strokeStyle = colors.ground;
      c.fill();
      if (!m.small) c.stroke();
    }
  }
}

// rowHeight returns the height of a worker's row.
const rowHeight = () => parseFloat(getComputedStyle(byId("rows")).getPropertyValue("--row"));

// drawRows draws the workers that the reader has scrolled to.
function drawRows() {
  const { c, width, height } = prepared(byId("bars"));
  const row = rowHeight();
  const top = byId("rows").scrollTop;
  const first = Math.floor(top / row);
  const last = Math.min(view.order.length, Math.ceil((top + height) / row));
  c.fillStyle = colors.line;
  for (const t of ticks(width).all) c.fillRect(xOf(t, width), 0, 1, Math.min(height, view.order.length * row - top));
  for (let i = first; i < last; i++) drawWorker(c, view.order[i], i * row - top, row, width);
  if (attempts.length > 1) {
    c.strokeStyle = colors.text;
    c.lineWidth = 1;
    c.setLineDash([3, 3]);
    for (const a of attempts.slice(1)) {
      const x = Math.round(xOf(a.from, width)) + .5;
      c.beginPath();
      c.moveTo(x, 0);
      c.lineTo(x, Math.min(height, view.order.length * row - top));
      c.stroke();
    }
    c.setLineDash([]);
  }
  writeNames(first, last, row, top);
}

// drawWorker draws one bar.
function drawWorker(c, w, y, row, width) {
  const chosen = view.chosen && view.chosen.worker === w;
  const [gap, tall] = [Math.round(row / 6), row - 2 * Math.round(row / 6)];
  if (chosen) {
    c.fillStyle = colors.chosen;
    c.fillRect(0, y, width, row);
  }
  let x = 0;
  for (let i = spanAt(w, view.from); i < w.phase.length && w.at[i] < view.to; i++) {
    const end = Math.min(width, edge(x, xOf(w.at[i + 1], width)));
    c.fillStyle = colors.phases[w.phase[i]];
    c.fillRect(x, y + gap, end - x, tall);
    x = end;
  }
  drawMarks(c, w.marks, width, y + row / 2);
  for (const at of [view.hover, view.chosen]) {
    if (!at || at.worker !== w) continue;
    const [from, to] = [Math.max(1, xOf(w.at[at.span], width)), Math.min(width - 1, xOf(w.at[at.span + 1], width))];
    if (to < from) continue;
    c.lineWidth = 2;
    c.strokeStyle = at === view.chosen ? colors.accent : colors.text;
    c.strokeRect(from, y + gap - 1, Math.max(2, to - from), tall + 2);
  }
}

// The start that all names share, up to a hyphen before their last word. Narrow screens leave it out.
const shared = (() => {
  if (workers.length < 2) return 0;
  let [n, first] = [workers[0].name.length, workers[0].name];
  for (const w of workers) while (!w.name.startsWith(first.slice(0, n))) n--;
  return first.lastIndexOf("-", first.lastIndexOf("-", n) - 1) + 1;
})();

// writeNames writes the names of the visible workers beside their bars.
function writeNames(first, last, row, top) {
  const names = byId("names");
  const narrow = names.clientWidth < 160;
  while (names.children.length < last - first) {
    const line = document.createElement("div");
    line.append(document.createElement("bdi"), document.createElement("span"));
    names.append(line);
  }
  [...names.children].forEach((line, i) => {
    const w = first + i < last ? view.order[first + i] : null;
    line.hidden = !w;
    if (!w) return;
    line.firstChild.textContent = narrow ? w.name.slice(shared) : w.name;
    line.lastChild.textContent = w.node;
    line.title = w.node ? w.name + " on " + w.node : w.name;
    line.classList.toggle("chosen", !!view.chosen && view.chosen.worker === w);
    line.style.transform = `translateY(${(first + i) * row - top}px)`;
  });
}

// drawBrush shows which part of the run the chart shows.
function drawBrush() {
  const brush = byId("brush");
  const wall = Math.max(doc.wall, 1);
  brush.hidden = view.from <= 0 && view.to >= wall;
  const width = byId("overview").clientWidth;
  brush.style.left = view.from / wall * width + "px";
  brush.style.width = Math.max(3, (view.to - view.from) / wall * width) + "px";
}
