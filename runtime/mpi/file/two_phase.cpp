// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/two_phase.hpp"

#include <algorithm>

#include "base/fault_point.hpp"
#include "base/flight_files.hpp"
#include "memory/movers.hpp"

namespace tutti::mpi::file {
namespace {

using Piece = Domains::Piece;

constexpr size_t kStages = 6;                     // a file keeps so many …
constexpr int64_t kMostKept = int64_t{16} << 20;  // … of at most so many bytes
constexpr int64_t kDense = 4;                     // a window is read whole if at least one byte of so many is wanted

// Runs without holes, in order.
void join(std::vector<Piece>& pieces) {
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

void add(std::vector<Piece>& pieces, int64_t offset, int64_t bytes) {
  if (!pieces.empty() && pieces.back().offset + pieces.back().bytes == offset)
    pieces.back().bytes += bytes;
  else
    pieces.push_back({offset, bytes});
}

}  // namespace

TwoPhases::TwoPhases(const PlacedAccess& job, const std::vector<Contribution>& shares,
                     const std::vector<io::View>& views, bool overlaps)
    : job_(job),
      shares_(shares),
      views_(views),
      domains_(job, shares, views),
      memory_(job.memory()),
      overlaps_(overlaps && domains_.rounds() > 1 && domains_.mine() >= 0) {
  if (overlaps_) queue_ = io::make_queue();
  take_stages();
  for (DomainWindows& window : windows_)
    for (auto* counts : {&window.mine, &window.mine_at, &window.other, &window.other_at})
      counts->assign(shares.size(), 0);
}

TwoPhases::~TwoPhases() {
  for (DomainWindows& window : windows_) finish(window);
  const Lock lock(job_.file->mutex);
  for (DomainWindows& window : windows_)
    for (io::Stage* each : {&window.stage, &window.packed, &window.buffer})
      if (each->bytes() > 0 && each->bytes() <= kMostKept && job_.file->stages.size() < kStages)
        job_.file->stages.push_back(std::move(*each));
}

// The largest first, for what has to hold most: a window's bytes, as they lie in the file and as
// they travel.
void TwoPhases::take_stages() {
  const Lock lock(job_.file->mutex);
  std::vector<io::Stage>& kept = job_.file->stages;
  std::ranges::sort(kept, {}, &io::Stage::bytes);
  for (const auto which : {&DomainWindows::buffer, &DomainWindows::packed, &DomainWindows::stage})
    for (DomainWindows& window : windows_) {
      if (kept.empty()) return;
      window.*which = std::move(kept.back());
      kept.pop_back();
    }
}

// Finds what this rank has in the windows of that round, and what all have in its own.
void TwoPhases::enter(DomainWindows& window, int64_t round) const {
  window.parts.clear();
  const std::vector<int>& aggregators = domains_.aggregators();
  for (size_t a = 0; a < aggregators.size(); ++a)
    window.parts.push_back(domains_.range_of(job_.file->rank(), domains_.window_of(static_cast<int>(a), round)));
  std::ranges::fill(window.mine, 0);
  int64_t at = 0;
  for (size_t a = 0; a < window.parts.size(); ++a) {
    const auto r = static_cast<size_t>(aggregators[a]);
    window.mine[r] = window.parts[a].bytes();
    window.mine_at[r] = direct() ? window.parts[a].begin : at;
    at += window.mine[r];
  }
  if (!direct()) window.stage.of(at);
  window.theirs.clear();
  std::ranges::fill(window.other, 0);
  at = 0;
  if (domains_.mine() >= 0) {
    window.here = domains_.window_of(domains_.mine(), round);
    for (int r = 0; r < static_cast<int>(shares_.size()); ++r) {
      window.theirs.push_back(domains_.range_of(r, window.here));
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

// visit(place in the window, place in packed, bytes) of all ranks' pieces in the window. Where pieces of a view share
// bytes, a position's place may be in another window: that is seen when the view is set, but of its first pieces alone.
template <class Visit>
Error TwoPhases::each_piece(const DomainWindows& window, Visit&& visit) const {
  Error error;
  for (size_t r = 0; r < window.theirs.size() && !error; ++r)
    views_[r].each_run(shares_[r].position + window.theirs[r].begin, window.theirs[r].bytes(),
                       [&](int64_t offset, int64_t from, int64_t n) {
                         const int64_t at = offset - window.here.offset;
                         if (at < 0 || at + n > window.here.bytes) {
                           error = failure(MPI_ERR_TYPE, "{}: pieces of the view of rank {} overlap near offset {}",
                                           job_.file->name, r, offset);
                           return false;
                         }
                         visit(at, window.other_at[r] + from, n);
                         return true;
                       });
  return error;
}

void TwoPhases::pack(DomainWindows& window) const {
  if (direct()) return;
  for (size_t a = 0; a < window.parts.size(); ++a)
    memory::pack(memory_, window.parts[a].begin,
                 window.stage.data() + window.mine_at[static_cast<size_t>(domains_.aggregators()[a])],
                 window.parts[a].bytes());
}

void TwoPhases::unpack(const DomainWindows& window) const {
  if (direct()) return;
  for (size_t a = 0; a < window.parts.size(); ++a)
    memory::unpack(memory_, window.parts[a].begin,
                   window.stage.data() + window.mine_at[static_cast<size_t>(domains_.aggregators()[a])],
                   window.parts[a].bytes());
}

// From what the ranks have sent to the file: nothing but their pieces.
void TwoPhases::store(DomainWindows& window) const {
  window.buffer.of(window.here.bytes);
  std::vector<Piece> pieces;
  window.error = each_piece(window, [&](int64_t to, int64_t from, int64_t n) {
    memory::copy(window.buffer.data() + to, window.packed.data() + from, n);
    add(pieces, to, n);
  });
  if (window.error) return;
  join(pieces);
  TUTTI_FAULT_POINT("two_phase.before_write");
  for (const Piece& piece : pieces) {
    io::Transferred one =
        job_.file->io->write(window.here.offset + piece.offset, window.buffer.data() + piece.offset, piece.bytes);
    if (!one.error) continue;
    window.error = std::move(one.error);
    return;
  }
  TUTTI_FAULT_POINT("two_phase.behind_write");
}

// From the file to what the ranks want.
void TwoPhases::load(DomainWindows& window) const {
  window.buffer.of(window.here.bytes);
  std::vector<Piece> pieces;
  int64_t wanted = 0;
  window.error = each_piece(window, [&](int64_t at, int64_t, int64_t n) { add(pieces, at, n), wanted += n; });
  if (window.error) return;
  join(pieces);
  const Piece all{pieces.front().offset, pieces.back().offset + pieces.back().bytes - pieces.front().offset};
  if (wanted * kDense >= all.bytes) pieces.assign(1, all);
  for (const Piece& piece : pieces) {
    io::Transferred one =
        job_.file->io->read(window.here.offset + piece.offset, window.buffer.data() + piece.offset, piece.bytes);
    if (one.error && !window.error) window.error = std::move(one.error);
  }
  TUTTI_FAULT_POINT("two_phase.read");
  Error again = each_piece(window, [&](int64_t at, int64_t to, int64_t n) {
    memory::copy(window.packed.data() + to, window.buffer.data() + at, n);
  });
  if (again && !window.error) window.error = std::move(again);
}

void TwoPhases::begin(DomainWindows& window) {
  if (window.packed_bytes == 0 || error_) return;
  TUTTI_FAULT_POINT("two_phase.exchanged");
  const auto move = [this, &window] { job_.writes ? store(window) : load(window); };
  if (!overlaps_) {
    move();
    if (window.error) error_ = std::move(window.error);
    return;
  }
  {
    const Lock lock(mutex_);
    busy(window) = true;
  }
  io::submit(queue_, [this, &window, move] {
    move();
    const Lock lock(mutex_);
    busy(window) = false;
    moved_.notify_one();
  });
}

void TwoPhases::finish(DomainWindows& window) {
  if (!overlaps_) return;
  const Lock lock(mutex_);
  if (busy(window)) {
    const flight::AtFile here(-1, flight::FileDoes::nothing, 0, 0);
    while (busy(window)) moved_.wait(mutex_);
  }
  if (window.error && !error_) error_ = std::move(window.error);
}

const coll::Call* TwoPhases::next() {
  return job_.writes ? next_written() : next_read();
}

const coll::Call* TwoPhases::next_written() {
  if (round_ >= 0) begin(windows_[round_ % 2]);
  if (++round_ >= domains_.rounds()) {
    for (DomainWindows& window : windows_) finish(window);
    return nullptr;
  }
  DomainWindows& window = windows_[round_ % 2];
  finish(window);
  enter(window, round_);
  pack(window);
  TUTTI_FAULT_POINT("two_phase.before_exchange");
  return exchange(window, true);
}

const coll::Call* TwoPhases::next_read() {
  if (round_ >= 0) {
    unpack(windows_[round_ % 2]);
  } else if (domains_.rounds() > 0) {
    enter(windows_[0], 0);
    begin(windows_[0]);
  }
  if (++round_ >= domains_.rounds()) return nullptr;
  DomainWindows& window = windows_[round_ % 2];
  finish(window);
  if (round_ + 1 < domains_.rounds()) {
    DomainWindows& ahead = windows_[(round_ + 1) % 2];
    enter(ahead, round_ + 1);
    begin(ahead);
  }
  return exchange(window, false);
}

}  // namespace tutti::mpi::file
