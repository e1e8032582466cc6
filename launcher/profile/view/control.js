// What moves the timeline: mouse, keys, search.
function within(low, value, high) {
  return Math.max(low, Math.min(high, value));
}
function show(from, to, top = view.top, bottom = view.bottom) {
  const range = within(20 / data.unit, to - from, length), ranks = within(Math.min(1, rankCount), bottom - top, rankCount);
  view.from = within(0, from, length - range);
  view.to = view.from + range;
  view.top = within(0, top, rankCount - ranks);
  view.bottom = view.top + ranks;
  draw();
}
function zoomTime(factor, around = (view.from + view.to) / 2) {
  show(around - (around - view.from) * factor, around + (view.to - around) * factor);
}
function zoomRanks(factor, around = (view.top + view.bottom) / 2) {
  show(view.from, view.to, around - (around - view.top) * factor, around + (view.bottom - around) * factor);
}
function whole() {
  show(0, length, 0, rankCount);
}
function timeAt(x) {
  return view.from + (x - left) / (timeline.clientWidth - left) * (view.to - view.from);
}
function rankAt(y) {
  return view.top + (y - axis) / (timeline.clientHeight - axis) * (view.bottom - view.top);
}
// The call under the mouse; where several are, the last one that begins. -1: none.
function spanUnder(x, y) {
  const rank = Math.floor(rankAt(y)), time = timeAt(x);
  if (x < left || y < axis || rank < 0 || rank >= rankCount) return -1;
  const slack = (view.to - view.from) / timeline.clientWidth;
  for (let at = firstFrom(rank, time + slack) - 1, tries = 0; at >= spans.offset[rank] && tries < 50; --at, ++tries)
    if (spans.begun[at] + spans.took[at] >= time - slack) return at;
  return -1;
}
function spanText(at) {
  const rank = rankOf(at), why = spans.waited[at] > 0 ? data.why[spans.kind[at]] : "";
  const whom = spans.process[at] === noProcess ? "" : `: rank ${spans.process[at]}`;
  return `rank ${data.ranks[rank]}, ${placeText(spans.place[at])}\n` +
         `from ${timeText(spans.begun[at] * data.unit)} on, for ${timeText(spans.took[at] * data.unit)}` +
         (why ? `, of which it waited ${timeText(spans.waited[at] * data.unit)}: ${why}${whom}` : "");
}
function choose(at) {
  chosen = at;
  document.getElementById("details").textContent = at < 0 ? "Nothing is chosen." : spanText(at);
  if (at >= 0) choosePlace(spans.place[at]);
  draw();
}

// ---- mouse
const tip = document.getElementById("tip");
function tell(event, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = within(4, event.clientX + 14, window.innerWidth - tip.offsetWidth - 4) + "px";
  tip.style.top = within(4, event.clientY + 14, window.innerHeight - tip.offsetHeight - 4) + "px";
}
function listenToMouse() {
  let drag = null;
  timeline.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = Math.exp(within(-0.5, (event.deltaY || event.deltaX) / 300, 0.5));
    if (event.shiftKey) zoomRanks(factor, rankAt(event.offsetY)); else zoomTime(factor, timeAt(event.offsetX));
  }, {passive: false});
  timeline.addEventListener("pointerdown", (event) => {
    drag = {x: event.clientX, y: event.clientY, moved: false, ...view};
    timeline.setPointerCapture(event.pointerId);
  });
  timeline.addEventListener("pointermove", (event) => {
    if (!drag) {
      const at = spanUnder(event.offsetX, event.offsetY);
      return tell(event, at < 0 ? "" : spanText(at));
    }
    const x = event.clientX - drag.x, y = event.clientY - drag.y;
    if (Math.abs(x) + Math.abs(y) < 4 && !drag.moved) return;
    drag.moved = true;
    const time = x / (timeline.clientWidth - left) * (drag.to - drag.from);
    const ranks = y / (timeline.clientHeight - axis) * (drag.bottom - drag.top);
    show(drag.from - time, drag.to - time, drag.top - ranks, drag.bottom - ranks);
  });
  timeline.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) choose(spanUnder(event.offsetX, event.offsetY));
    drag = null;
  });
  timeline.addEventListener("dblclick", (event) => zoomTime(0.25, timeAt(event.offsetX)));
  timeline.addEventListener("pointerleave", () => tell(null, ""));
  const jump = (event) => {
    if (event.buttons === 0) return;
    const time = (event.offsetX - left) / (overview.clientWidth - left) * length, range = view.to - view.from;
    show(time - range / 2, time + range / 2);
  };
  overview.addEventListener("pointerdown", jump);
  overview.addEventListener("pointermove", jump);
}

// ---- search
const search = document.getElementById("search"), hits = document.getElementById("hits");
let hitCount = 0;
function look() {
  const words = search.value.trim().toLowerCase(), rank = /^rank\s+(\d+)$/.exec(words);
  foundRank = rank ? Number(rank[1]) : -1;
  found = words && !rank ? data.places.map((_, at) => placeText(at).toLowerCase().includes(words)) : null;
  hitCount = 0;
  if (found || rank)
    for (let at = 0; at < rankCount; ++at)
      for (let [span, end] = spanRange(at); span < end; ++span) hitCount += matches(span, at);
  hits.textContent = words ? `${hitCount} ${hitCount === 1 ? "call" : "calls"}` : "";
  draw();
}
// The next call that matches, in the order of time and ranks, from the chosen one on.
function nextHit(direction) {
  if (hitCount === 0) return;
  const before = (a, b) => spans.begun[a] - spans.begun[b] || a - b;
  let best = -1, first = -1;
  for (let rank = 0; rank < rankCount; ++rank)
    for (let [at, end] = spanRange(rank); at < end; ++at) {
      if (!matches(at, rank)) continue;
      if (first < 0 || direction * before(at, first) < 0) first = at;
      if (chosen >= 0 && direction * before(at, chosen) > 0 && (best < 0 || direction * before(at, best) < 0)) best = at;
    }
  const at = best < 0 ? first : best, rank = rankOf(at), ranks = view.bottom - view.top;
  const range = Math.min(view.to - view.from, Math.max(spans.took[at] * 8, length / 1000));
  const from = spans.begun[at] + spans.took[at] / 2 - range / 2;
  if (rank >= view.top && rank + 1 <= view.bottom) show(from, from + range);
  else show(from, from + range, rank - ranks / 2, rank + ranks / 2);
  choose(at);
}

// ---- keys and buttons
function toggle(what) {
  const box = document.getElementById(what);
  box.checked = !box.checked;
  shown[what] = box.checked;
  draw();
}
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = dark ? "light" : "dark";
  drawAll();
}
function toggleHelp(open) {
  const keys = document.getElementById("keys");
  keys.hidden = open === undefined ? !keys.hidden : !open;
  document.getElementById("help").setAttribute("aria-expanded", String(!keys.hidden));
}
function pan(time, ranks) {
  const t = time * (view.to - view.from), r = ranks * (view.bottom - view.top);
  show(view.from + t, view.to + t, view.top + r, view.bottom + r);
}
const keys = {
  ArrowLeft: () => pan(-0.2, 0), ArrowRight: () => pan(0.2, 0), ArrowUp: () => pan(0, -0.2), ArrowDown: () => pan(0, 0.2),
  "+": () => zoomTime(0.7), "=": () => zoomTime(0.7), "-": () => zoomTime(1 / 0.7),
  "*": () => zoomRanks(0.7), "_": () => zoomRanks(1 / 0.7),
  "0": whole, Home: whole, "/": () => search.focus(), n: () => nextHit(1), N: () => nextHit(-1),
  m: () => toggle("messages"), c: () => toggle("collectives"), p: () => toggle("path"),
  t: () => setTheme(document.documentElement.dataset.theme !== "dark"), "?": () => toggleHelp(),
  Escape: () => { toggleHelp(false); tell(null, ""); choose(-1); },
};
function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (typing && event.key === "Escape") {
      search.value = "";
      look();
      return timeline.focus();
    }
    if (typing && event.key === "Enter") return nextHit(event.shiftKey ? -1 : 1);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const isElsewhere = event.target !== document.body && event.target !== timeline;
    if (isElsewhere && /^(Arrow|Home)/.test(event.key)) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
  search.addEventListener("input", look);
  for (const what of ["messages", "collectives", "path"])
    document.getElementById(what).addEventListener("change", (event) => { shown[what] = event.target.checked; draw(); });
  const click = (id, act) => document.getElementById(id).addEventListener("click", act);
  click("next", () => nextHit(1));
  click("previous", () => nextHit(-1));
  click("in", () => zoomTime(0.5));
  click("out", () => zoomTime(2));
  click("whole", whole);
  click("theme", keys.t);
  click("help", () => toggleHelp());
}
