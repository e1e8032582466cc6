// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/two_phase.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tutti::mpi {
namespace {

constexpr int64_t kAligned = 64 << 10;
constexpr size_t kStages = 6;                     // a file keeps so many …
constexpr int64_t kMostKept = int64_t{16} << 20;  // … of at most so many bytes
constexpr int64_t kDense = 4;                     // a window is read whole if at least one byte of so many is wanted

}  // namespace

TwoPhases::TwoPhases(const PlacedAccess& job, const std::vector<Contribution>& shares,
                     const std::vector<io::View>& views, bool overlaps)
    : job_(job),
      shares_(shares),
      views_(views),
      ranks_(static_cast<int>(shares.size())),
      rank_(job.file->rank()),
      memory_(job.memory()),
      overlaps_(overlaps) {
  clip();
  divide();
  overlaps_ = overlaps_ && rounds_ > 1 && mine_ >= 0;
  if (overlaps_) queue_ = io::make_queue();
  take_stages();
  for (DomainWindows& window : windows_)
    for (auto* counts : {&window.mine, &window.mine_at, &window.other, &window.other_at})
      counts->assign(shares.size(), 0);
}

TwoPhases::~TwoPhases() {
  for (DomainWindows& window : windows_) finish(window);
  const std::lock_guard lock(job_.file->mutex);
  for (DomainWindows& window : windows_)
    for (io::Stage* each : {&window.stage, &window.packed, &window.buffer})
      if (each->bytes() > 0 && each->bytes() <= kMostKept && job_.file->stages.size() < kStages)
        job_.file->stages.push_back(std::move(*each));
}

// The largest first, for what has to hold most: a window's bytes, as they lie in the file and as
// they travel.
void TwoPhases::take_stages() {
  const std::lock_guard lock(job_.file->mutex);
  std::vector<io::Stage>& kept = job_.file->stages;
  std::ranges::sort(kept, {}, &io::Stage::bytes);
  for (const auto which : {&DomainWindows::buffer, &DomainWindows::packed, &DomainWindows::stage})
    for (DomainWindows& window : windows_) {
      if (kept.empty()) return;
      window.*which = std::move(kept.back());
      kept.pop_back();
    }
}

// A read ends where the file does.
void TwoPhases::clip() {
  int64_t end = 0;
  for (const Contribution& share : shares_) end = std::max(end, share.file_size);
  low_ = std::numeric_limits<int64_t>::max();
  for (size_t r = 0; r < shares_.size(); ++r) {
    const Contribution& share = shares_[r];
    int64_t length = share.bytes, high = share.high;
    if (!job_.writes && high > end) {
      length = std::clamp<int64_t>(views_[r].position_at(end) - share.position, 0, length);
      high = end;
    }
    lengths_.push_back(length);
    if (length == 0) continue;
    low_ = std::min(low_, share.low);
    high_ = std::max(high_, high);
  }
  if (high_ == 0) low_ = 0;
}

// Equal parts of the range, each of whole stripes of the file: no two aggregators share one, nor
// its lock at the file system.
void TwoPhases::divide() {
  const Contribution& first = shares_[0];
  int wanted = first.aggregators;
  if (wanted <= 0) {
    const NodeLayout* const nodes = job_.file->comm().hidden.nodes;
    wanted = std::max(
        {4, ranks_ / 16, nodes ? nodes->nodes() : 1, static_cast<int>(std::min<int64_t>(first.stripes, ranks_))});
  }
  const int count = std::min(wanted, ranks_);
  part_ = (high_ - low_ + count - 1) / count;
  const int64_t unit = first.stripe > 0 ? first.stripe : kAligned;
  if (part_ > unit) {
    low_ -= low_ % unit;
    part_ = (high_ - low_ + count - 1) / count;
    part_ = (part_ + unit - 1) / unit * unit;
  }
  size_ = std::max<int64_t>(std::min(first.buffer_size, part_), 1);
  if (size_ > unit) size_ -= size_ % unit;
  rounds_ = (part_ + size_ - 1) / size_;
  choose_aggregators(count);
}

// One on each node, then the next one on each, until there are enough; on a node they stand equally
// far apart.
void TwoPhases::choose_aggregators(int count) {
  const NodeLayout* const nodes = job_.file->comm().hidden.nodes;
  if (nodes) {
    std::vector<int> many(static_cast<size_t>(nodes->nodes()), 0);
    for (int left = count; left > 0;)
      for (int node = 0; node < nodes->nodes() && left > 0; ++node)
        if (many[static_cast<size_t>(node)] < static_cast<int>(nodes->members(node).size()))
          ++many[static_cast<size_t>(node)], --left;
    for (int turn = 0; static_cast<int>(aggregators_.size()) < count; ++turn)
      for (int node = 0; node < nodes->nodes(); ++node) {
        const ProcessList members = nodes->members(node);
        const int here = many[static_cast<size_t>(node)];
        if (turn < here) aggregators_.push_back(members[static_cast<int>(int64_t{turn} * members.size() / here)]);
      }
  } else {
    for (int a = 0; a < count; ++a) aggregators_.push_back(static_cast<int>(static_cast<int64_t>(a) * ranks_ / count));
  }
  const auto me = std::ranges::find(aggregators_, rank_);
  if (me != aggregators_.end()) mine_ = static_cast<int>(me - aggregators_.begin());
}

TwoPhases::Piece TwoPhases::window_of(int aggregator, int64_t round) const {
  const int64_t begin = std::min(low_ + aggregator * part_ + round * size_, high_);
  const int64_t end = std::min({begin + size_, low_ + (aggregator + 1) * part_, high_});
  return {begin, std::max<int64_t>(end - begin, 0)};
}

TwoPhases::Range TwoPhases::range_of(int rank, const Piece& window) const {
  const auto r = static_cast<size_t>(rank);
  const auto at = [&](int64_t offset) {
    return std::clamp<int64_t>(views_[r].position_at(offset) - shares_[r].position, 0, lengths_[r]);
  };
  if (lengths_[r] == 0 || window.bytes == 0) return {};
  return {at(window.offset), at(window.offset + window.bytes)};
}

// Finds what this rank has in the windows of that round, and what all have in its own.
void TwoPhases::enter(DomainWindows& window, int64_t round) const {
  window.parts.clear();
  for (size_t a = 0; a < aggregators_.size(); ++a)
    window.parts.push_back(range_of(rank_, window_of(static_cast<int>(a), round)));
  std::ranges::fill(window.mine, 0);
  int64_t at = 0;
  for (size_t a = 0; a < window.parts.size(); ++a) {
    const auto r = static_cast<size_t>(aggregators_[a]);
    window.mine[r] = window.parts[a].bytes();
    window.mine_at[r] = direct() ? window.parts[a].begin : at;
    at += window.mine[r];
  }
  if (!direct()) window.stage.of(at);
  window.theirs.clear();
  std::ranges::fill(window.other, 0);
  at = 0;
  if (mine_ >= 0) {
    window.here = window_of(mine_, round);
    for (int r = 0; r < ranks_; ++r) {
      window.theirs.push_back(range_of(r, window.here));
      window.other[static_cast<size_t>(r)] = window.theirs.back().bytes();
      window.other_at[static_cast<size_t>(r)] = at;
      at += window.theirs.back().bytes();
    }
  }
  window.packed.of(window.packed_bytes = at);
}

std::byte* TwoPhases::own_side(DomainWindows& window) const {
  return direct() && memory_.bytes() > 0 ? memory_.data() : window.stage.data();
}

const coll::Call* TwoPhases::exchange(DomainWindows& window, bool to_aggregators) {
  std::byte *const own = own_side(window), *const there = window.packed.data();
  const auto ints = [](const std::vector<int64_t>& v) { return Ints(v.data()); };
  call_ = {.kind = coll::Collective::alltoallv,
           .in = to_aggregators ? own : there,
           .out = to_aggregators ? there : own,
           .in_layout = &Layout::bytes(),
           .out_layout = &Layout::bytes(),
           .in_counts = ints(to_aggregators ? window.mine : window.other),
           .in_displacements = ints(to_aggregators ? window.mine_at : window.other_at),
           .out_counts = ints(to_aggregators ? window.other : window.mine),
           .out_displacements = ints(to_aggregators ? window.other_at : window.mine_at)};
  return &call_;
}

// visit(place in the window, place in packed, bytes) of all ranks' pieces in the window.
template <class Visit>
void TwoPhases::each_piece(const DomainWindows& window, Visit&& visit) const {
  for (size_t r = 0; r < window.theirs.size(); ++r)
    views_[r].each_run(shares_[r].position + window.theirs[r].begin, window.theirs[r].bytes(),
                       [&](int64_t offset, int64_t from, int64_t n) {
                         visit(offset - window.here.offset, window.other_at[r] + from, n);
                         return true;
                       });
}

// Runs without holes, in order.
void TwoPhases::join(std::vector<Piece>& pieces) {
  std::ranges::sort(pieces, {}, &Piece::offset);
  size_t last = 0;
  for (size_t i = 1; i < pieces.size(); ++i) {
    Piece& before = pieces[last];
    if (pieces[i].offset <= before.offset + before.bytes)
      before.bytes = std::max(before.bytes, pieces[i].offset + pieces[i].bytes - before.offset);
    else
      pieces[++last] = pieces[i];
  }
  if (!pieces.empty()) pieces.resize(last + 1);
}

void TwoPhases::add(std::vector<Piece>& pieces, int64_t offset, int64_t bytes) {
  if (!pieces.empty() && pieces.back().offset + pieces.back().bytes == offset)
    pieces.back().bytes += bytes;
  else
    pieces.push_back({offset, bytes});
}

void TwoPhases::pack(DomainWindows& window) const {
  if (direct()) return;
  for (size_t a = 0; a < window.parts.size(); ++a)
    memory_.pack(window.parts[a].begin, window.stage.data() + window.mine_at[static_cast<size_t>(aggregators_[a])],
                 window.parts[a].bytes());
}

void TwoPhases::unpack(const DomainWindows& window) const {
  if (direct()) return;
  for (size_t a = 0; a < window.parts.size(); ++a)
    memory_.unpack(window.parts[a].begin, window.stage.data() + window.mine_at[static_cast<size_t>(aggregators_[a])],
                   window.parts[a].bytes());
}

// From what the ranks have sent to the file: nothing but their pieces.
void TwoPhases::store(DomainWindows& window) const {
  window.buffer.of(window.here.bytes);
  std::vector<Piece> pieces;
  each_piece(window, [&](int64_t to, int64_t from, int64_t n) {
    std::memcpy(window.buffer.data() + to, window.packed.data() + from, static_cast<size_t>(n));
    add(pieces, to, n);
  });
  join(pieces);
  for (const Piece& piece : pieces) {
    io::Transferred one =
        job_.file->io->write(window.here.offset + piece.offset, window.buffer.data() + piece.offset, piece.bytes);
    if (!one.error) continue;
    window.error = std::move(one.error);
    return;
  }
}

// From the file to what the ranks want.
void TwoPhases::load(DomainWindows& window) const {
  window.buffer.of(window.here.bytes);
  std::vector<Piece> pieces;
  int64_t wanted = 0;
  each_piece(window, [&](int64_t at, int64_t, int64_t n) { add(pieces, at, n), wanted += n; });
  join(pieces);
  const Piece all{pieces.front().offset, pieces.back().offset + pieces.back().bytes - pieces.front().offset};
  if (wanted * kDense >= all.bytes) pieces.assign(1, all);
  for (const Piece& piece : pieces) {
    io::Transferred one =
        job_.file->io->read(window.here.offset + piece.offset, window.buffer.data() + piece.offset, piece.bytes);
    if (one.error && !window.error) window.error = std::move(one.error);
  }
  each_piece(window, [&](int64_t at, int64_t to, int64_t n) {
    std::memcpy(window.packed.data() + to, window.buffer.data() + at, static_cast<size_t>(n));
  });
}

void TwoPhases::begin(DomainWindows& window) {
  if (window.packed_bytes == 0 || error_) return;
  const auto move = [this, &window] { job_.writes ? store(window) : load(window); };
  if (!overlaps_) {
    move();
    if (window.error) error_ = std::move(window.error);
    return;
  }
  window.busy = true;
  io::submit(queue_, [this, &window, move] {
    move();
    const std::lock_guard lock(mutex_);
    window.busy = false;
    moved_.notify_one();
  });
}

void TwoPhases::finish(DomainWindows& window) {
  if (!overlaps_) return;
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return !window.busy; });
  if (window.error && !error_) error_ = std::move(window.error);
}

const coll::Call* TwoPhases::next() {
  return job_.writes ? next_written() : next_read();
}

const coll::Call* TwoPhases::next_written() {
  if (round_ >= 0) begin(windows_[round_ % 2]);
  if (++round_ >= rounds_) {
    for (DomainWindows& window : windows_) finish(window);
    return nullptr;
  }
  DomainWindows& window = windows_[round_ % 2];
  finish(window);
  enter(window, round_);
  pack(window);
  return exchange(window, true);
}

const coll::Call* TwoPhases::next_read() {
  if (round_ >= 0) {
    unpack(windows_[round_ % 2]);
  } else if (rounds_ > 0) {
    enter(windows_[0], 0);
    begin(windows_[0]);
  }
  if (++round_ >= rounds_) return nullptr;
  DomainWindows& window = windows_[round_ % 2];
  finish(window);
  if (round_ + 1 < rounds_) {
    DomainWindows& ahead = windows_[(round_ + 1) % 2];
    enter(ahead, round_ + 1);
    begin(ahead);
  }
  return exchange(window, false);
}

}  // namespace tutti::mpi
