"use strict";
// What the page holds: numbers in base64, times in units of `unit` nanoseconds since the job's begin.
const data = JSON.parse(document.getElementById("data").textContent);

function unpacked(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Kind(bytes.buffer);
}
const kinds = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array};
function table(of) {
  const out = {};
  for (const [name, [kind, text]] of Object.entries(of)) out[name] = unpacked(text, kinds[kind]);
  return out;
}
const spans = table(data.spans), periods = table(data.periods).spent, messages = table(data.messages);
const meetings = table(data.meetings), steps = table(data.path), matrix = table(data.matrix);
const rankCount = data.ranks.length, length = data.length / data.unit;  // in units
const noProcess = 0xffff;

// A call's place in words, and what a number of nanoseconds or bytes is.
function placeText(at) {
  const place = data.places[at];
  return `${place.function} at ${place.place}` + (place.region ? ` [${place.region}]` : "");
}
function timeText(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(size >= 1e11 ? 1 : 3) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return ns.toFixed(0) + " ns";
}
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  for (; bytes >= 1024 && at + 1 < units.length; ++at) bytes /= 1024;
  return (at === 0 ? bytes.toFixed(0) : bytes.toFixed(1)) + " " + units[at];
}
function seconds(ns) {
  return (ns / 1e9).toFixed(3);
}

// ---- colours follow the theme
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
function rgb(name) {
  const hex = colour(name);
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
const doings = [["computing", "computing"], ["moving", "MPI: moving"], ["waiting", "waiting for others"],
                ["collectives", "in collectives"], ["files", "files"]];

// A canvas as many pixels as the screen has for it; its size in those of the page.
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width)), height = Math.max(1, Math.round(box.height));
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width, height};
}
// 1, 2 or 5 times a power of ten, so that about `count` of it are `range`.
function roundStep(range, count) {
  const raw = range / count, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= raw) || raw;
}
