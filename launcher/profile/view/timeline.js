// The timeline. What is seen: times from `view.from` to `view.to`, in units, and ranks (their places in the list) from
// `view.top` to `view.bottom`. Where calls are narrower than a pixel, each pixel shows what the time there was spent with.
const timeline = document.getElementById("timeline"), overview = document.getElementById("overview");
const view = {from: 0, to: length, top: 0, bottom: rankCount};
const shown = {messages: true, collectives: true, path: false};
const left = 64, axis = 22;
let found = null;     // by place: does it match the search
let foundRank = -1;
let chosen = -1;      // a span

function spanRange(rank) {
  return [spans.offset[rank], spans.offset[rank + 1]];
}
// The first span of a rank that begins at `time` or later.
function firstFrom(rank, time) {
  let [low, high] = spanRange(rank);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.begun[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}
function rankOf(span) {
  let low = 0, high = rankCount;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (spans.offset[middle] <= span) low = middle; else high = middle;
  }
  return low;
}
function matches(span, rank) {
  return (!found || found[spans.place[span]]) && (foundRank < 0 || data.ranks[rank] === foundRank);
}
function kindOfCall(span) {
  const name = data.places[spans.place[span]].function;
  if (name.startsWith("MPI_File_")) return "files";
  return spans.isCollective[span] ? "collectives" : "moving";
}

class Frame {
  constructor() {
    Object.assign(this, fitted(timeline));
    this.plot = this.width - left;
    this.rows = this.height - axis;
    this.each = (view.to - view.from) / this.plot;  // units of a pixel
    this.row = this.rows / (view.bottom - view.top);
    this.colours = Object.fromEntries(doings.map(([name]) => [name, colour(name)]));
  }
  x(time) { return left + (time - view.from) / this.each; }
  y(rank) { return axis + (rank - view.top) * this.row; }
  middle(rank) { return this.y(rank) + this.row / 2; }
}

// What each pixel's time was spent with, of as many ranks as a line has.
function drawPeriods(frame) {
  const {context} = frame, count = data.periods_each, each = length / count;
  const palette = doings.map(([name]) => rgb(name));
  const lines = Math.max(1, Math.min(Math.round(frame.rows), Math.ceil(view.bottom) - Math.floor(view.top)));
  const columns = Math.max(1, Math.round(frame.plot));
  const image = new ImageData(columns, lines), share = new Float64Array(5);
  for (let line = 0; line < lines; ++line) {
    const height = (view.bottom - view.top) / lines;
    const first = Math.max(0, Math.floor(view.top + line * height));
    const last = Math.min(rankCount, Math.max(first + 1, Math.floor(view.top + (line + 1) * height)));
    for (let column = 0; column < columns; ++column) {
      const begin = Math.floor((view.from + column * frame.each) / each);
      const end = Math.min(count, Math.max(begin + 1, Math.ceil((view.from + (column + 1) * frame.each) / each)));
      share.fill(0);
      for (let rank = first; rank < last; ++rank)
        for (let at = begin; at < end; ++at)
          for (let k = 0; k < 5; ++k) share[k] += periods[(rank * count + at) * 5 + k];
      const sum = share[0] + share[1] + share[2] + share[3] + share[4], pixel = (line * columns + column) * 4;
      if (sum === 0) continue;
      for (let c = 0; c < 3; ++c) {
        let value = 0;
        for (let k = 0; k < 5; ++k) value += palette[k][c] * share[k];
        image.data[pixel + c] = value / sum;
      }
      image.data[pixel + 3] = 255;
    }
  }
  const picture = document.createElement("canvas");
  picture.width = columns;
  picture.height = lines;
  picture.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.globalAlpha = found || foundRank >= 0 ? 0.35 : 1;
  context.drawImage(picture, left, axis, frame.plot, frame.rows);
  context.globalAlpha = 1;
}

// Calls that are wide enough to be seen.
function drawSpans(frame) {
  const {context} = frame, least = frame.each * 1.5, pad = frame.row > 8 ? Math.min(3, frame.row * 0.12) : 0;
  let drawn = 0;
  for (let rank = Math.max(0, Math.floor(view.top)); rank < Math.min(rankCount, Math.ceil(view.bottom)); ++rank) {
    const y = frame.y(rank) + pad, height = Math.max(1, frame.row - 2 * pad);
    const [begin] = spanRange(rank);
    let at = firstFrom(rank, view.from);
    while (at > begin && spans.begun[at - 1] + spans.took[at - 1] > view.from) --at;
    for (const end = spanRange(rank)[1]; at < end && spans.begun[at] < view.to; ++at) {
      if (spans.took[at] < least && !(found && matches(at, rank))) continue;
      const x = Math.max(left, frame.x(spans.begun[at]));
      const width = Math.max(1, Math.min(frame.width, frame.x(spans.begun[at] + spans.took[at])) - x);
      const seen = matches(at, rank);
      context.globalAlpha = seen ? 1 : 0.15;
      context.fillStyle = frame.colours[kindOfCall(at)];
      context.fillRect(x, y, width, height);
      const wait = Math.min(width, frame.x(spans.begun[at] + spans.waited[at]) - x);
      if (wait > 0.5) {
        context.fillStyle = frame.colours.waiting;
        context.fillRect(x, y, wait, height);
      }
      if (seen && (found || at === chosen)) {
        context.strokeStyle = at === chosen ? colour("fore") : colour("hit");
        context.lineWidth = at === chosen ? 2 : 1.5;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1);
      }
      if (width > 60 && height > 11) {
        context.fillStyle = "#fff";
        context.font = "11px system-ui, sans-serif";
        context.save();
        context.beginPath();
        context.rect(x, y, width - 3, height);
        context.clip();
        context.fillText(data.places[spans.place[at]].function, x + 4, y + height / 2 + 4);
        context.restore();
      }
      ++drawn;
    }
  }
  context.globalAlpha = 1;
  return drawn;
}

function arrow(context, x1, y1, x2, y2, head) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  if (head) {
    const angle = Math.atan2(y2 - y1, x2 - x1);
    for (const side of [-0.5, 0.5]) {
      context.moveTo(x2, y2);
      context.lineTo(x2 - 7 * Math.cos(angle + side), y2 - 7 * Math.sin(angle + side));
    }
  }
  context.stroke();
}
function isSeen(from, to, a, b) {
  return to >= view.from && from <= view.to && Math.max(a, b) + 1 > view.top && Math.min(a, b) < view.bottom;
}
// Arrows of messages; of many the streams between parts of the ranks, thicker for more.
const mostArrows = 400;
function drawMessages(frame) {
  const {context} = frame, seen = [];
  for (let at = 0; at < messages.from.length; ++at)
    if (isSeen(messages.sent[at], messages.received[at], messages.from[at], messages.to[at])) seen.push(at);
  context.strokeStyle = colour("message");
  if (seen.length <= mostArrows) {
    context.lineWidth = 1;
    context.globalAlpha = seen.length > 150 ? 0.5 : 0.85;
    for (const at of seen)
      arrow(context, frame.x(messages.sent[at]), frame.middle(messages.from[at]), frame.x(messages.received[at]),
            frame.middle(messages.to[at]), true);
    context.globalAlpha = 1;
    return `${seen.length} messages`;
  }
  const parts = Math.min(24, view.bottom - view.top), times = 30, streams = new Map();
  const part = (rank) => Math.min(parts - 1, Math.max(0, Math.floor((rank - view.top) / (view.bottom - view.top) * parts)));
  for (const at of seen) {
    const time = Math.floor((messages.sent[at] - view.from) / (view.to - view.from) * times);
    const key = (time * 32 + part(messages.from[at])) * 32 + part(messages.to[at]);
    const stream = streams.get(key) || {count: 0, sent: 0, received: 0, from: part(messages.from[at]), to: part(messages.to[at])};
    ++stream.count;
    stream.sent += messages.sent[at];
    stream.received += messages.received[at];
    streams.set(key, stream);
  }
  const most = Math.max(...[...streams.values()].map((s) => s.count));
  const y = (at) => axis + (at + 0.5) * frame.rows / parts;
  context.globalAlpha = 0.3;
  for (const s of streams.values()) {
    context.lineWidth = 0.5 + 2 * s.count / most;
    arrow(context, frame.x(s.sent / s.count), y(s.from), frame.x(s.received / s.count), y(s.to), false);
  }
  context.globalAlpha = 1;
  return `${seen.length} messages, as streams between parts of the ranks`;
}

// From the rank that entered a collective last to those that waited for it; of many ranks a line across. From so far that
// there are too many, nothing: what the time was spent with says it.
const mostMeetings = 120;
function drawMeetings(frame) {
  const {context} = frame, seen = [];
  for (let at = 0; at + 1 < meetings.offset.length; ++at) {
    const last = meetings.offset[at + 1] - 1;
    if (meetings.left[last] >= view.from && meetings.entered[meetings.offset[at]] <= view.to) seen.push(at);
  }
  if (seen.length > mostMeetings) return `${seen.length} collectives, which are drawn from closer`;
  context.strokeStyle = colour("collectives");
  for (const meeting of seen) {
    const begin = meetings.offset[meeting], end = meetings.offset[meeting + 1], last = end - 1;
    const x = frame.x(meetings.entered[last]), y = frame.middle(meetings.rank[last]);
    context.lineWidth = 1.2;
    context.globalAlpha = seen.length > 60 ? 0.35 : 0.8;
    for (let at = begin; at < end; ++at) {
      const rank = meetings.rank[at];
      if (at !== last && rank + 1 > view.top && rank < view.bottom && end - begin <= 64)
        arrow(context, x, y, frame.x(Math.max(meetings.entered[last], meetings.entered[at])) + 4, frame.middle(rank), frame.row > 10);
    }
    if (end - begin > 64) arrow(context, x, frame.y(view.top), x, frame.y(view.bottom), false);
    context.globalAlpha = 1;
    context.fillStyle = colour("waiting");
    context.beginPath();
    context.arc(x, y, 3.5, 0, 7);
    context.fill();
  }
  return `${seen.length} collectives`;
}

function drawPath(frame) {
  const {context} = frame;
  context.strokeStyle = colour("path");
  context.lineWidth = Math.max(2, Math.min(4, frame.row / 4));
  context.beginPath();
  for (let at = 0; at < steps.rank.length; ++at) {
    if (at + 1 < steps.rank.length && steps.to[at + 1] < view.from) continue;
    if (steps.from[at] > view.to) break;
    const y = frame.middle(steps.rank[at]);
    if (at > 0) context.lineTo(frame.x(steps.from[at]), y); else context.moveTo(frame.x(steps.from[at]), y);
    context.lineTo(frame.x(steps.to[at]), y);
  }
  context.stroke();
}

function drawAxes(frame) {
  const {context} = frame, back = colour("back"), fore = colour("soft");
  context.fillStyle = back;
  context.fillRect(0, 0, left, frame.height);
  context.fillRect(0, 0, frame.width, axis);
  context.fillStyle = fore;
  context.strokeStyle = colour("soft");
  context.lineWidth = 1;
  context.font = "11px system-ui, sans-serif";
  const range = (view.to - view.from) * data.unit, step = roundStep(range, Math.max(2, frame.plot / 130));
  for (let time = Math.ceil(view.from * data.unit / step) * step; time <= view.to * data.unit; time += step) {
    const x = Math.round(frame.x(time / data.unit)) + 0.5;
    context.beginPath();
    context.moveTo(x, axis - 5);
    context.lineTo(x, axis);
    context.stroke();
    context.fillText(time === 0 ? "0" : timeText(time).replace(/\.?0+ /, " "), Math.min(x + 3, frame.width - 60), 13);
  }
  const ranks = view.bottom - view.top, every = Math.max(1, Math.ceil(roundStep(ranks, Math.max(1, frame.rows / 18))));
  for (let rank = Math.ceil(view.top / every) * every; rank < Math.min(rankCount, view.bottom); rank += every) {
    const y = frame.middle(rank);
    if (y > axis + 4) context.fillText(`rank ${data.ranks[rank]}`, 4, y + 4);
  }
}

function drawOverview() {
  const {context, width, height} = fitted(overview), count = data.periods_each, plot = width - left;
  const sums = new Float64Array(count * 5), stride = Math.max(1, Math.floor(rankCount / 200));
  for (let rank = 0; rank < rankCount; rank += stride)
    for (let at = 0; at < count * 5; ++at) sums[at] += periods[rank * count * 5 + at];
  for (let x = 0; x < plot; ++x) {
    const at = Math.min(count - 1, Math.floor(x / plot * count)) * 5;
    let sum = 0, y = height;
    for (let k = 0; k < 5; ++k) sum += sums[at + k];
    for (const k of [0, 1, 3, 4, 2]) {
      const part = sum > 0 ? sums[at + k] / sum * height : 0;
      context.fillStyle = colourOf[k];
      context.fillRect(left + x, y - part, 1, part + 0.5);
      y -= part;
    }
  }
  context.strokeStyle = colour("fore");
  context.lineWidth = 2;
  const from = left + view.from / length * plot, to = left + view.to / length * plot;
  context.strokeRect(from, 1, Math.max(3, to - from), height - 2);
  context.fillStyle = colour("soft");
  context.font = "11px system-ui, sans-serif";
  context.fillText("all ranks", 4, height / 2 + 4);
}
let colourOf = [];

let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    colourOf = doings.map(([name]) => colour(name));
    const frame = new Frame(), notes = [];
    // Where each call is known and wide enough, between calls is computing, and nothing is averaged.
    const exact = data.least === 0 && frame.each < length / data.periods_each;
    if (exact) {
      frame.context.fillStyle = frame.colours.computing;
      for (let rank = Math.max(0, Math.floor(view.top)); rank < Math.min(rankCount, view.bottom); ++rank)
        frame.context.fillRect(frame.x(data.begun[rank]), frame.y(rank), (data.over[rank] - data.begun[rank]) / frame.each,
                               Math.max(1, frame.row - (frame.row > 4 ? 1 : 0)));
    } else {
      drawPeriods(frame);
    }
    notes.push(`${drawSpans(frame)} calls`);
    if (shown.collectives) notes.push(drawMeetings(frame));
    if (shown.messages) notes.push(drawMessages(frame));
    if (shown.path) drawPath(frame);
    drawAxes(frame);
    drawOverview();
    timeline.setAttribute("aria-label", `Timeline of ${rankCount} ranks, from ${timeText(view.from * data.unit)} to ` +
                          `${timeText(view.to * data.unit)}: ${notes.join(", ")}`);
    timeline.dataset.drawn = notes.join("; ");
  });
}
