"use strict";
// Draws the runs of a comparison. All text goes in as text, never as markup.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage");
const SVG = "http://www.w3.org/2000/svg";
const ROOM = { left: 62, right: 14, top: 10, bottom: 42, zero: 26 };
const CHARTS = [
  { title: "Duality gap", note: "primal - dual", curves: ["gap"], log: true, tol: data.tol },
  { title: "Primal value above the best bound", note: "of all solvers", curves: ["above"], log: true },
  { title: "Primal value and dual bound", note: "solid and dashed", curves: ["primal", "dual"] },
];
if (data.errorName) CHARTS.push({ title: data.errorName, note: "", curves: ["error"] });
const NUMBERS = { passes: "passes", oracle_calls: "oracle calls", seconds: "seconds", primal: "primal",
                  dual: "dual", gap: "gap", above: "above best bound", error: data.errorName };

// ---- what is shown, kept in the address: #x=seconds&hide=name ----

const state = { x: "passes", hidden: new Set() };
function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  state.x = asked.get("x") in data.measures ? asked.get("x") : "passes";
  state.hidden = new Set(asked.getAll("hide"));
}
function change(edit) {
  edit();
  const asked = new URLSearchParams([["x", state.x], ...[...state.hidden].map(name => ["hide", name])]);
  try { history.replaceState(null, "", "#" + asked); } catch { /* some browsers forbid it on files */ }
  draw();
}

// ---- elements ----

function element(name, { text, ...attributes } = {}, parent) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}
function shape(name, attributes, parent, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
const colour = number => `var(--run-${number % 10})`;

// ---- numbers ----

function plain(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(5)));
}
function tickName(value) {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-3 && size < 1e4)) return String(Number(value.toPrecision(6)));
  if (size >= 1e4 && size < 1e9) return size < 1e6 ? `${value / 1e3}k` : `${value / 1e6}M`;
  const [digits, power] = value.toExponential().split("e");
  return `${digits}e${Number(power)}`;
}

// ---- scales: from a value to a place, with ticks ----

function logScale(low, high, from, to) {
  if (high <= low) { low /= 2; high *= 2; }
  const a = Math.log10(low), b = Math.log10(high);
  const place = value => from + (Math.log10(Math.max(value, low)) - a) / (b - a) * (to - from);
  const every = Math.max(1, Math.ceil((b - a) / (Math.abs(to - from) / 45)));
  const ticks = [], minor = [];
  for (let power = Math.floor(a); power <= Math.ceil(b); power++)
    for (const digit of [1, 2, 5]) {
      const value = Number(`${digit}e${power}`);
      if (value < low * 0.999 || value > high * 1.001) continue;
      const named = digit === 1 ? power % every === 0 : b - a < 2.2;
      (named ? ticks : every === 1 ? minor : []).push(value);
    }
  return { place, ticks, minor };
}
function linearScale(low, high, from, to) {
  if (high <= low) { const pad = Math.abs(low) / 10 || 1; low -= pad; high += pad; }
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(digit => digit * power).find(one => one >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) ticks.push(Number((k * step).toPrecision(6)));
  return { place: value => from + (value - low) / (high - low) * (to - from), ticks, minor: [] };
}
// Effort is on a logarithmic scale with a place for zero, where all runs start.
function effortScale(values, from, to) {
  const positive = values.filter(value => value > 0);
  const low = Math.min(...positive), high = Math.max(...positive);
  const scale = positive.length ? logScale(low, high, from + ROOM.zero, to) : logScale(1, 10, from + ROOM.zero, to);
  return { place: value => value > 0 ? scale.place(value) : from, ticks: scale.ticks, minor: scale.minor };
}
function valueScale(chart, values, from, to) {
  if (!chart.log) {
    const low = Math.min(...values), high = Math.max(...values), pad = (high - low) / 25;
    return linearScale(low > 0 && low < high / 2 ? 0 : low - pad, high + pad, from, to);
  }
  const positive = values.filter(value => value > 0);
  if (!positive.length) return logScale(1e-12, 1, from, to);
  const low = Math.min(...positive, chart.tol > 0 ? chart.tol : Infinity);
  return logScale(Math.max(low / 1.4, 1e-16), Math.max(...positive) * 1.2, from, to);
}

// ---- the page's parts ----

readAddress();
const bar = element("div", { class: "bar" }, stage);
const axes = element("div", { class: "choices", role: "group", "aria-label": "horizontal axis" }, bar);
element("span", { text: "against" }, axes);
for (const name of Object.keys(data.measures)) {
  const button = element("button", { type: "button", "data-x": name, text: NUMBERS[name] }, axes);
  button.addEventListener("click", () => change(() => { state.x = name; }));
}
const legend = element("div", { class: "choices legend", role: "group", "aria-label": "solvers shown" }, bar);
element("span", { text: "solvers" }, legend);
data.runs.forEach((run, number) => {
  const button = element("button", { type: "button", "data-run": number }, legend);
  element("i", { style: "" }, button).style.borderColor = colour(number);
  button.append(run.name);
  button.addEventListener("click", () => change(() => {
    if (!state.hidden.delete(run.name)) state.hidden.add(run.name);
  }));
});
const holder = element("div", { class: "charts" }, stage);
const tip = element("div", { class: "tip", role: "status" }, stage);
tip.hidden = true;
for (const chart of CHARTS) {
  const box = element("div", { class: "chart" }, holder);
  const heading = element("h3", { text: chart.title + " " }, box);
  element("small", { text: chart.note }, heading);
  chart.svg = shape("svg", { role: "img", "aria-label": chart.title }, box);
  chart.svg.addEventListener("pointermove", event => point(chart, event));
  chart.svg.addEventListener("pointerdown", event => point(chart, event));
  chart.svg.addEventListener("pointerleave", () => point(chart, null));
}

// ---- drawing ----

function draw() {
  for (const button of axes.querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.x === state.x);
  for (const button of legend.querySelectorAll("button"))
    button.setAttribute("aria-pressed", !state.hidden.has(data.runs[button.dataset.run].name));
  tip.hidden = true;
  for (const chart of CHARTS) drawChart(chart);
}
function shownRuns() {
  return data.runs.map((run, number) => ({ ...run, number })).filter(run => !state.hidden.has(run.name));
}
function drawChart(chart) {
  const { svg } = chart, width = svg.clientWidth || 560, height = svg.clientHeight || 320;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  chart.points = [];
  const runs = shownRuns();
  const values = runs.flatMap(run => chart.curves.flatMap(name => run.columns[name])).filter(value => value !== null);
  if (!values.length) {
    shape("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, svg, "No solver is shown.");
    return;
  }
  const right = width - ROOM.right, bottom = height - ROOM.bottom;
  const x = effortScale(runs.flatMap(run => run.columns[state.x]), ROOM.left, right);
  const y = valueScale(chart, values, bottom, ROOM.top);
  drawFrame(chart, svg, x, y, right, bottom);
  for (const run of runs)
    for (const name of chart.curves) drawCurve(chart, run, name, x, y, bottom);
  chart.spot = shape("circle", { class: "spot", r: 5, visibility: "hidden" }, svg);
}
function drawFrame(chart, svg, x, y, right, bottom) {
  for (const value of y.minor) shape("line", { class: "minor", x1: ROOM.left, x2: right, y1: y.place(value), y2: y.place(value) }, svg);
  for (const value of y.ticks) {
    const at = y.place(value);
    shape("line", { class: "grid", x1: ROOM.left, x2: right, y1: at, y2: at }, svg);
    shape("text", { x: ROOM.left - 8, y: at + 4, "text-anchor": "end" }, svg, tickName(value));
  }
  const drawn = [[x.place(0), "0"], ...x.ticks.map(value => [x.place(value), tickName(value)])];
  let last = -Infinity;
  for (const [at, name] of drawn) {
    shape("line", { class: "grid", x1: at, x2: at, y1: bottom, y2: bottom + 5 }, svg);
    if (at - last < 12 + 7 * name.length) continue;
    shape("text", { x: at, y: bottom + 19, "text-anchor": "middle" }, svg, name);
    last = at;
  }
  shape("line", { class: "grid", x1: ROOM.left, x2: right, y1: bottom, y2: bottom }, svg);
  shape("text", { x: (ROOM.left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, svg, data.measures[state.x]);
  if (chart.tol > 0) {
    const at = y.place(chart.tol);
    shape("line", { class: "tol", x1: ROOM.left, x2: right, y1: at, y2: at }, svg);
    shape("text", { x: ROOM.left + 6, y: at - 5 }, svg, `tol ${tickName(chart.tol)}`);
  }
}
function drawCurve(chart, run, name, x, y, bottom) {
  const corners = [];
  run.columns[name].forEach((value, i) => {
    if (value === null) return;
    const at = { run, i, name, x: x.place(run.columns[state.x][i]), y: Math.min(chart.log && value <= 0 ? bottom : y.place(value), bottom) };
    corners.push(at);
    chart.points.push(at);
  });
  const kind = name === "dual" ? "curve bound" : "curve";
  const path = corners.map((at, i) => `${i ? "L" : "M"}${at.x.toFixed(1)} ${at.y.toFixed(1)}`).join("");
  const line = shape("path", { class: kind, d: path, "data-run": run.number, "data-curve": name }, chart.svg);
  line.style.stroke = colour(run.number);
  if (corners.length === 1) {
    const dot = shape("circle", { cx: corners[0].x, cy: corners[0].y, r: 4 }, chart.svg);
    dot.style.fill = colour(run.number);
  }
}

// ---- pointing ----

function point(chart, event) {
  if (!chart.spot) return;
  const at = event && nearest(chart, event);
  for (const curve of chart.svg.querySelectorAll(".curve"))
    curve.classList.toggle("dim", Boolean(at) && Number(curve.dataset.run) !== at.run.number);
  chart.spot.setAttribute("visibility", at ? "visible" : "hidden");
  tip.hidden = !at;
  if (!at) return;
  chart.spot.setAttribute("cx", at.x);
  chart.spot.setAttribute("cy", at.y);
  chart.spot.style.fill = colour(at.run.number);
  fillTip(at);
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = `${Math.max(4, event.clientX + 16 + wide > innerWidth ? event.clientX - wide - 16 : event.clientX + 16)}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 12, innerHeight - high - 4))}px`;
}
function nearest(chart, event) {
  const frame = chart.svg.getBoundingClientRect();
  const px = event.clientX - frame.left, py = event.clientY - frame.top;
  let best = null, least = 60 ** 2;
  for (const at of chart.points) {
    const away = (at.x - px) ** 2 + (at.y - py) ** 2;
    if (away < least) [best, least] = [at, away];
  }
  return best;
}
function fillTip(at) {
  tip.replaceChildren(element("b", { text: at.run.name }));
  const list = element("dl", {}, tip);
  for (const [name, title] of Object.entries(NUMBERS)) {
    if (!(at.i in at.run.columns[name])) continue;
    element("dt", { text: title }, list);
    element("dd", { text: plain(at.run.columns[name][at.i]) }, list);
  }
}

addEventListener("hashchange", () => { readAddress(); draw(); });
let width = holder.clientWidth;
new ResizeObserver(() => {
  if (holder.clientWidth === width) return;
  width = holder.clientWidth;
  draw();
}).observe(holder);
draw();
})();
