// What stands below the timeline: tables, the matrix of bytes and histograms; and the beginning of it all.

// A table whose columns are sorted by a click: {head, of: (row) => text, by: (row) => value to sort by, text: is it words}.
function fillTable(id, columns, rows, pick) {
  const element = document.getElementById(id), head = element.createTHead().insertRow(), body = element.createTBody();
  let sorted = -1, down = true;
  function fill() {
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      for (const column of columns) {
        const cell = line.insertCell();
        cell.textContent = column.of(row);
        if (column.text) cell.className = "text";
      }
      line.dataset.key = row.key;
      line.tabIndex = 0;
      line.addEventListener("click", () => pick(row));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(row); });
      return line;
    }));
  }
  columns.forEach((column, at) => {
    const cell = document.createElement("th");
    cell.textContent = column.head;
    if (column.text) cell.className = "text";
    cell.tabIndex = 0;
    const sort = () => {
      down = sorted === at ? !down : !column.text;
      sorted = at;
      rows.sort((a, b) => {
        const x = column.by(a), y = column.by(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      fill();
    };
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    head.append(cell);
  });
  fill();
}
function mark(id, key) {
  for (const line of document.getElementById(id).tBodies[0].rows) line.classList.toggle("chosen", line.dataset.key === String(key));
}

let chosenPlace = 0;
function choosePlace(at) {
  chosenPlace = at;
  mark("places", at);
  drawDurations();
}
function fillPlaces() {
  const rows = data.places.map((place, key) => ({...place, key}));
  fillTable("places", [
    {head: "calls", of: (r) => r.calls, by: (r) => r.calls},
    {head: "seconds", of: (r) => seconds(r.time), by: (r) => r.time},
    {head: "waiting", of: (r) => seconds(r.waited), by: (r) => r.waited},
    {head: "a call", of: (r) => timeText(r.calls ? r.time / r.calls : 0), by: (r) => (r.calls ? r.time / r.calls : 0)},
    {head: "where", of: (r) => placeText(r.key), by: (r) => placeText(r.key), text: true},
    {head: "for whom most of it", of: (r) => r.why, by: (r) => r.why, text: true},
  ], rows, (row) => {
    choosePlace(row.key);
    search.value = placeText(row.key);
    look();
  });
}

function fillSteps() {
  const sums = new Map();
  for (let at = 0; at < steps.rank.length; ++at) {
    const key = steps.rank[at] + ":" + steps.place[at];
    const sum = sums.get(key) || {key, rank: data.ranks[steps.rank[at]], place: steps.place[at], time: 0, at, longest: 0};
    const took = steps.to[at] - steps.from[at];
    sum.time += took * data.unit;
    if (took > sum.longest) sum.longest = took, sum.at = at;
    sums.set(key, sum);
  }
  const rows = [...sums.values()].sort((a, b) => b.time - a.time).slice(0, 100);
  const all = rows.reduce((sum, row) => sum + row.time, 0) || 1;
  const what = (r) => (r.place < 0 ? "computing" : placeText(r.place));
  fillTable("steps", [
    {head: "seconds", of: (r) => seconds(r.time), by: (r) => r.time},
    {head: "of it", of: (r) => (100 * r.time / all).toFixed(1) + " %", by: (r) => r.time},
    {head: "rank", of: (r) => r.rank, by: (r) => r.rank},
    {head: "what", of: what, by: what, text: true},
  ], rows, (row) => {
    mark("steps", row.key);
    if (!shown.path) toggle("path");
    const range = Math.max(row.longest * 3, length / 1000), middle = (steps.from[row.at] + steps.to[row.at]) / 2;
    const rank = steps.rank[row.at], ranks = view.bottom - view.top;
    show(middle - range / 2, middle + range / 2, rank + 0.5 - ranks / 2, rank + 0.5 + ranks / 2);
  });
}

function fillRanks() {
  const rows = data.ranks.map((rank, key) => ({key, rank, node: data.nodes[key], ...data.sums[key]}));
  fillTable("ranks", [
    {head: "rank", of: (r) => r.rank, by: (r) => r.rank},
    {head: "node", of: (r) => r.node, by: (r) => r.node},
    {head: "computing", of: (r) => seconds(r.computing), by: (r) => r.computing},
    {head: "MPI", of: (r) => seconds(r.mpi), by: (r) => r.mpi},
    {head: "waiting", of: (r) => seconds(r.waiting), by: (r) => r.waiting},
  ], rows, (row) => {
    mark("ranks", row.key);
    const ranks = Math.min(view.bottom - view.top, Math.max(1, rankCount / 10));
    show(view.from, view.to, row.key + 0.5 - ranks / 2, row.key + 0.5 + ranks / 2);
  });
}

// ---- the matrix: each square so many ranks, darker for more, by powers of two
function drawMatrix() {
  const canvas = document.getElementById("matrix"), {context, width} = fitted(canvas);
  const count = data.matrix_each.count, size = width / count;
  const most = Math.max(1, ...matrix.bytes), from = rgb("panel"), to = rgb("accent");
  for (let i = 0; i < count; ++i)
    for (let j = 0; j < count; ++j) {
      const bytes = matrix.bytes[i * count + j];
      const share = bytes > 0 ? 0.15 + 0.85 * Math.log2(1 + bytes) / Math.log2(1 + most) : 0;
      context.fillStyle = `rgb(${from.map((c, k) => Math.round(c + (to[k] - c) * share)).join(",")})`;
      context.fillRect(j * size, i * size, Math.ceil(size), Math.ceil(size));
    }
}
function listenToMatrix() {
  const canvas = document.getElementById("matrix"), cell = document.getElementById("cell");
  const {count, ranks} = data.matrix_each;
  const name = (at) => (ranks === 1 ? `rank ${at}` : `ranks ${at * ranks} to ${Math.min((at + 1) * ranks, data.size) - 1}`);
  const silent = `Lines send, columns receive; what collectives send is not counted.` +
                 (data.other_bytes > 0 ? ` ${bytesText(data.other_bytes)} to others are not shown.` : "");
  cell.textContent = silent;
  canvas.addEventListener("pointermove", (event) => {
    const at = (value) => within(0, Math.floor(value / canvas.clientWidth * count), count - 1);
    const i = at(event.offsetY), j = at(event.offsetX), k = i * count + j;
    cell.textContent = `${name(i)} to ${name(j)}: ${matrix.messages[k]} messages, ${bytesText(matrix.bytes[k])}`;
  });
  canvas.addEventListener("pointerleave", () => { cell.textContent = silent; });
}

// ---- histograms: [0] of 0, [i] of less than 2^i
function drawBars(id, values, label) {
  const {context, width, height} = fitted(document.getElementById(id));
  let first = values.findIndex((v) => v > 0), last = values.length - 1;
  while (last > 0 && !values[last]) --last;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colour("soft");
  if (first < 0) return context.fillText("none", 10, 20);
  first = Math.max(0, first - 1);
  const count = last - first + 2, size = (width - 20) / count, most = Math.max(...values);
  for (let at = first; at <= last; ++at) {
    const x = 10 + (at - first) * size, bar = values[at] > 0 ? Math.max(2, values[at] / most * (height - 48)) : 0;
    context.fillStyle = colour("accent");
    context.fillRect(x + 1, height - 20 - bar, Math.max(1, size - 2), bar);
    context.fillStyle = colour("soft");
    if (values[at] > 0 && size > 26) context.fillText(String(values[at]), x + 1, height - 24 - bar);
    const each = Math.ceil(56 / size);
    if ((at - first) % each === 0) context.fillText(label(at), x, height - 6);
  }
  document.getElementById(id).setAttribute("aria-label", values.map((v, at) => (v ? `${v} below ${label(at)}` : ""))
    .filter(Boolean).join(", "));
}
function drawLengths() {
  drawBars("lengths", data.lengths, (at) => (at === 0 ? "0" : "<" + bytesText(2 ** at).replace(/\.0/, "")));
}
function drawDurations() {
  const place = data.places[chosenPlace];
  document.getElementById("durations-of").textContent =
    place ? `Calls by duration: ${place.function} at ${place.place}` : "Calls by duration";
  if (place) drawBars("durations", place.durations, (at) => "<" + timeText(2 ** at).replace(/\.\d+/, ""));
}

function drawAll() {
  draw();
  drawMatrix();
  drawLengths();
  drawDurations();
  document.getElementById("legend").replaceChildren(...doings.map(([name, text]) => {
    const item = document.createElement("span"), square = document.createElement("i");
    square.style.background = colour(name);
    item.append(square, text);
    return item;
  }));
}

function limits() {
  const parts = [];
  if (data.least > 0)
    parts.push(`Calls shorter than ${timeText(data.least)} are not kept one by one, but in what the time was spent with.`);
  if (data.every > 1) parts.push(`Of the messages about one in ${data.every} is drawn.`);
  if (data.unnamed > 0) parts.push(`${data.unnamed} messages cannot be drawn: they have too many tags.`);
  if (data.clock_error >= 0)
    parts.push(`The clocks of the nodes are aligned by collectives and messages, to ${timeText(data.clock_error)}: what lies ` +
               "closer together on two nodes may have happened the other way round.");
  if (data.unknown_clocks > 0)
    parts.push(`Of ${data.unknown_clocks} ${data.unknown_clocks === 1 ? "node" : "nodes"} the clock cannot be compared: their ` +
               "ranks are drawn as if they had begun with the first one.");
  return parts.join(" ");
}

function begin() {
  document.title = `${data.program}: profile`;
  document.getElementById("title").textContent = `${data.program}: ${data.ranks.length} ` +
    `${data.ranks.length === 1 ? "rank" : "ranks"}, ${timeText(data.length)}`;
  document.getElementById("about").textContent = data.about;
  document.getElementById("limits").textContent = limits();
  document.getElementById("text").textContent = data.text;
  const hint = document.getElementById("hint");
  hint.textContent = data.hint;
  hint.hidden = !data.hint;
  timeline.style.height = within(160, rankCount * 26 + axis, Math.max(300, window.innerHeight * 0.55)) + "px";
  fillPlaces();
  fillSteps();
  fillRanks();
  listenToMouse();
  listenToKeys();
  listenToMatrix();
  window.addEventListener("resize", drawAll);
  setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches);
  if (data.places.length > 0) choosePlace(0);
}
begin();
