// SPDX-License-Identifier: BSD-3-Clause
// Collective access in two phases: some ranks, the aggregators, each own a part of the file's range
// that is accessed, and move it in large pieces; the ranks exchange with them what belongs into
// each part. It wins where the ranks' pieces are small and lie between each other's. Everybody
// knows everybody's view, so that both sides count alike, and no list of offsets is made of a whole
// access, nor does one travel.
//
//   rank 0's pieces  a.....a.....a.....     part of aggregator 0  abcabcabc
//   rank 1's         ..b.....b.....b...     part of aggregator 1  abcabcabc
//   rank 2's         ....c.....c.....c.
//
// A part is moved in windows of cb_buffer_size, one exchange for each.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "mpi/file/access.hpp"
#include "mpi/file/agreement.hpp"
#include "mpi/file/representation.hpp"

namespace tutti::mpi {
namespace {

constexpr int64_t kLargePiece = 64
                                << 10;  // bytes: such pieces are moved as well by whoever has them
constexpr int kSampled = 64;            // pieces that are looked at
constexpr int64_t kMostOfViews = int64_t{64} << 20;  // bytes of all ranks' views, as they travel
constexpr int64_t kAligned = 64 << 10;

// What each rank says of its part.
struct Share {
  int64_t position, bytes;  // of its view
  int64_t low, high;        // in the file
  int64_t piece;            // bytes of a run, about
  int64_t file_size;
  int64_t buffer_size;  // hints; those of rank 0 are taken
  int32_t buffering, aggregators;
  int32_t fit;  // for two phases
  int32_t failed;
};

int64_t mean_piece(const io::View& view, int64_t position, int64_t bytes) {
  int64_t seen = 0;
  int pieces = 0;
  view.each_run(position, bytes,
                [&](int64_t, int64_t, int64_t n) { return seen += n, ++pieces < kSampled; });
  return pieces ? seen / pieces : 0;
}

bool interleave(std::vector<Share> shares) {
  std::erase_if(shares, [](const Share& s) { return s.bytes == 0; });
  std::ranges::sort(shares, {}, &Share::low);
  for (size_t i = 1; i < shares.size(); ++i)
    if (shares[i].low < shares[i - 1].high) return true;
  return false;
}

bool in_two_phases(const std::vector<Share>& shares) {
  const auto wanted = static_cast<Hints::Collective>(shares[0].buffering);
  if (shares.size() == 1 || wanted == Hints::Collective::never) return false;
  if (!std::ranges::all_of(shares, [](const Share& s) { return s.fit != 0; })) return false;
  if (std::ranges::all_of(shares, [](const Share& s) { return s.bytes == 0; })) return false;
  if (wanted == Hints::Collective::always) return true;
  return std::ranges::any_of(shares,
                             [](const Share& s) { return s.bytes > 0 && s.piece < kLargePiece; }) &&
         interleave(shares);
}

// Every rank's view, once for each MPI_File_set_view. False: they are too large to be told to all.
Error know_views(File& file, Function function, const io::View& mine, bool& known) {
  known = file.views != nullptr;
  if (known || file.views_too_large) return {};
  Bytes bytes;
  mine.tile->write(bytes);
  struct Said {
    int64_t displacement, bytes;
  };
  std::vector<Said> all;
  if (Error e = exchange(file.comm(), function,
                         Said{mine.displacement, static_cast<int64_t>(bytes.size())}, all))
    return e;
  std::vector<int64_t> counts, places;
  int64_t total = 0;
  for (const Said& said : all) {
    counts.push_back(said.bytes);
    places.push_back(total);
    total += said.bytes;
  }
  if (total > kMostOfViews) return file.views_too_large = true, Error();
  std::vector<std::byte> received(static_cast<size_t>(total));
  coll::Call call{.kind = coll::Collective::allgatherv,
                  .in = bytes.data(),
                  .out = received.data(),
                  .in_count = static_cast<int64_t>(bytes.size()),
                  .in_layout = &Layout::bytes(),
                  .out_layout = &Layout::bytes(),
                  .out_counts = Ints(counts.data()),
                  .out_displacements = Ints(places.data())};
  call.signature = contract::word_of(function);
  if (Error e = run(file.comm(), call)) return e;
  auto views = std::make_shared<std::vector<io::View>>();
  for (size_t r = 0; r < all.size(); ++r) {
    std::span<const std::byte> from(received.data() + places[r], static_cast<size_t>(counts[r]));
    LayoutRef tile = Layout::read(from);
    if (!tile)
      return failure(MPI_ERR_INTERN, "{}: the view of rank {} cannot be read", file.name, r);
    views->push_back({all[r].displacement, std::move(tile)});
  }
  file.views = std::move(views);
  return known = true, Error();
}

class TwoPhases {
 public:
  TwoPhases(const Job& job, Function function, const std::vector<Share>& shares,
            const std::vector<io::View>& views)
      : job_(job),
        function_(function),
        shares_(shares),
        views_(views),
        ranks_(static_cast<int>(shares.size())),
        rank_(job.file->rank()),
        memory_(job.memory()) {
    for (auto* counts : {&out_, &out_at_, &in_, &in_at_}) counts->assign(shares.size(), 0);
    clip();
    divide();
  }

  // The first error of an aggregator's own reads and writes; `failed`: the exchange's.
  Error run_all(Error& failed) {
    for (int64_t round = 0; round < rounds_; ++round) {
      enter_window(round);
      failed = job_.writes ? write_window() : read_window();
      if (failed) break;
    }
    return std::move(error_);
  }
  int64_t bytes() const { return lengths_[static_cast<size_t>(rank_)]; }

 private:
  struct Piece {
    int64_t offset, bytes;
  };
  // What of one rank's access lies in a window: its packed bytes [begin, end).
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t bytes() const { return end - begin; }
  };

  // A read ends where the file does.
  void clip() {
    int64_t end = 0;
    for (const Share& share : shares_) end = std::max(end, share.file_size);
    low_ = std::numeric_limits<int64_t>::max();
    for (size_t r = 0; r < shares_.size(); ++r) {
      const Share& share = shares_[r];
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

  // Equal parts of the range; the aggregators stand equally far apart among the ranks, and so on
  // different nodes.
  void divide() {
    const int wanted =
        shares_[0].aggregators > 0 ? shares_[0].aggregators : std::max(4, ranks_ / 16);
    const int count = std::min(wanted, ranks_);
    part_ = (high_ - low_ + count - 1) / count;
    if (part_ > kAligned) {
      low_ -= low_ % kAligned;
      part_ = (high_ - low_ + count - 1) / count;
      part_ = (part_ + kAligned - 1) / kAligned * kAligned;
    }
    window_ = std::max<int64_t>(std::min(shares_[0].buffer_size, part_), 1);
    rounds_ = (part_ + window_ - 1) / window_;
    for (int a = 0; a < count; ++a) {
      aggregators_.push_back(static_cast<int>(static_cast<int64_t>(a) * ranks_ / count));
      if (aggregators_.back() == rank_) mine_ = a;
    }
  }

  Piece window_of(int aggregator, int64_t round) const {
    const int64_t begin = std::min(low_ + aggregator * part_ + round * window_, high_);
    const int64_t end = std::min({begin + window_, low_ + (aggregator + 1) * part_, high_});
    return {begin, std::max<int64_t>(end - begin, 0)};
  }
  Range range_of(int rank, const Piece& window) const {
    const auto r = static_cast<size_t>(rank);
    const auto at = [&](int64_t offset) {
      return std::clamp<int64_t>(views_[r].position_at(offset) - shares_[r].position, 0,
                                 lengths_[r]);
    };
    if (lengths_[r] == 0 || window.bytes == 0) return {};
    return {at(window.offset), at(window.offset + window.bytes)};
  }

  void enter_window(int64_t round) {
    parts_.clear();
    for (size_t a = 0; a < aggregators_.size(); ++a)
      parts_.push_back(range_of(rank_, window_of(static_cast<int>(a), round)));
    theirs_.clear();
    if (mine_ < 0) return;
    here_ = window_of(mine_, round);
    for (int r = 0; r < ranks_; ++r) theirs_.push_back(range_of(r, here_));
  }

  // Between my memory and the aggregators': directly where it has no gaps.
  bool direct() const { return memory_.contiguous(); }
  void count_mine(std::vector<int64_t>& counts, std::vector<int64_t>& places) {
    std::ranges::fill(counts, 0);
    int64_t at = 0;
    for (size_t a = 0; a < parts_.size(); ++a) {
      const auto r = static_cast<size_t>(aggregators_[a]);
      counts[r] = parts_[a].bytes();
      places[r] = direct() ? parts_[a].begin : at;
      at += counts[r];
    }
    if (!direct()) stage_.resize(static_cast<size_t>(at));
  }
  void count_theirs(std::vector<int64_t>& counts, std::vector<int64_t>& places) {
    std::ranges::fill(counts, 0);
    int64_t at = 0;
    for (size_t r = 0; r < theirs_.size(); ++r) {
      counts[r] = theirs_[r].bytes();
      places[r] = at;
      at += counts[r];
    }
    packed_.resize(static_cast<size_t>(at));
  }
  std::byte* own_side() { return direct() && memory_.bytes() > 0 ? memory_.data() : stage_.data(); }

  Error exchange_data(const std::byte* from, std::byte* to) {
    coll::Call call{.kind = coll::Collective::alltoallv,
                    .in = from,
                    .out = to,
                    .in_layout = &Layout::bytes(),
                    .out_layout = &Layout::bytes(),
                    .in_counts = Ints(out_.data()),
                    .in_displacements = Ints(out_at_.data()),
                    .out_counts = Ints(in_.data()),
                    .out_displacements = Ints(in_at_.data())};
    call.signature = contract::word_of(function_);
    return run(job_.file->comm(), call);
  }

  // visit(place in the window, place in packed_, bytes) of all ranks' pieces in the window.
  template <class Visit>
  void each_piece(const std::vector<int64_t>& places, Visit&& visit) {
    for (size_t r = 0; r < theirs_.size(); ++r)
      views_[r].each_run(shares_[r].position + theirs_[r].begin, theirs_[r].bytes(),
                         [&](int64_t offset, int64_t from, int64_t n) {
                           visit(offset - here_.offset, places[r] + from, n);
                           return true;
                         });
  }
  // Runs without holes, in order.
  static void join(std::vector<Piece>& pieces) {
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
  static void add(std::vector<Piece>& pieces, int64_t offset, int64_t bytes) {
    if (!pieces.empty() && pieces.back().offset + pieces.back().bytes == offset)
      pieces.back().bytes += bytes;
    else
      pieces.push_back({offset, bytes});
  }

  Error write_window() {
    count_mine(out_, out_at_);
    count_theirs(in_, in_at_);
    if (!direct())
      for (size_t a = 0; a < parts_.size(); ++a)
        memory_.pack(parts_[a].begin, stage_.data() + out_at_[static_cast<size_t>(aggregators_[a])],
                     parts_[a].bytes());
    if (Error e = exchange_data(own_side(), packed_.data())) return e;
    if (packed_.empty() || error_) return {};
    buffer_.resize(static_cast<size_t>(here_.bytes));
    std::vector<Piece> pieces;
    each_piece(in_at_, [&](int64_t to, int64_t from, int64_t n) {
      std::memcpy(buffer_.data() + to, packed_.data() + from, static_cast<size_t>(n));
      add(pieces, to, n);
    });
    join(pieces);
    for (const Piece& piece : pieces) {
      io::Outcome one = job_.file->io->write(here_.offset + piece.offset,
                                             buffer_.data() + piece.offset, piece.bytes);
      if (one.error) return error_ = std::move(one.error), Error();
    }
    return {};
  }

  Error read_window() {
    count_theirs(out_, out_at_);
    count_mine(in_, in_at_);
    if (!packed_.empty() && !error_) {
      buffer_.resize(static_cast<size_t>(here_.bytes));
      std::vector<Piece> pieces;
      int64_t wanted = 0;
      each_piece(out_at_, [&](int64_t at, int64_t, int64_t n) { add(pieces, at, n), wanted += n; });
      join(pieces);
      const Piece all{pieces.front().offset,
                      pieces.back().offset + pieces.back().bytes - pieces.front().offset};
      if (wanted * 4 >= all.bytes) pieces.assign(1, all);
      for (const Piece& piece : pieces) {
        io::Outcome one = job_.file->io->read(here_.offset + piece.offset,
                                              buffer_.data() + piece.offset, piece.bytes);
        if (one.error && !error_) error_ = std::move(one.error);
      }
      each_piece(out_at_, [&](int64_t at, int64_t to, int64_t n) {
        std::memcpy(packed_.data() + to, buffer_.data() + at, static_cast<size_t>(n));
      });
    }
    if (Error e = exchange_data(packed_.data(), own_side())) return e;
    if (!direct())
      for (size_t a = 0; a < parts_.size(); ++a)
        memory_.unpack(parts_[a].begin,
                       stage_.data() + in_at_[static_cast<size_t>(aggregators_[a])],
                       parts_[a].bytes());
    return {};
  }

  const Job& job_;
  const Function function_;
  const std::vector<Share>& shares_;
  const std::vector<io::View>& views_;
  const int ranks_, rank_;
  const Payload memory_;
  int64_t low_ = 0, high_ = 0, part_ = 0, window_ = 0, rounds_ = 0;
  std::vector<int64_t> lengths_;  // bytes that are accessed, by rank
  std::vector<int> aggregators_;  // their ranks
  int mine_ = -1;                 // which of them this rank is
  std::vector<Range> parts_;      // of this rank's data, by aggregator
  std::vector<Range> theirs_;     // of each rank's data, what lies in the window of this aggregator
  Piece here_{};                  // that window
  std::vector<int64_t> out_, out_at_, in_, in_at_;  // of the exchange, by rank
  std::vector<std::byte> stage_, packed_, buffer_;
  Error error_;
};

Share share_of(const Job& job) {
  const io::View& view = job.view->bytes;
  const int64_t bytes = job.bytes();
  Share mine{};
  mine.position = job.position;
  mine.bytes = bytes;
  if (bytes > 0) {
    mine.low = view.offset_of(job.position);
    mine.high = view.offset_of(job.position + bytes - 1) + 1;
    mine.piece = mean_piece(view, job.position, bytes);
  }
  const std::lock_guard lock(job.file->mutex);
  const Hints& hints = job.file->hints;
  mine.buffer_size = hints.cb_buffer_size;
  mine.buffering = static_cast<int32_t>(job.writes ? hints.buffered_writes : hints.buffered_reads);
  mine.aggregators = hints.cb_nodes;
  // Tiles that reach into each other have no order by which a window could be found.
  const bool in_order = view.tile->extent() >= view.tile->true_extent();
  mine.fit = in_order && !job.converts() && !job.atomic;
  return mine;
}

}  // namespace

Error perform_together(const Job& job, Function function, io::Outcome& outcome) {
  File& file = *job.file;
  if (file.size() == 1) {
    outcome = perform(job);
    return {};
  }
  Share mine = share_of(job);
  Error asked = job.writes ? Error() : file.io->size(mine.file_size);
  mine.failed = asked.mpi_class();
  std::vector<Share> shares;
  if (Error e = exchange(file.comm(), function, mine, shares)) return e;
  const auto failed = std::ranges::find_if(shares, [](const Share& s) { return s.failed != 0; });
  if (failed != shares.end())
    return tell_failure(file.comm(), function, static_cast<int>(failed - shares.begin()),
                        std::move(asked));
  bool together = in_two_phases(shares);
  if (together)
    if (Error e = know_views(file, function, job.view->bytes, together)) return e;
  if (!together) {
    outcome = perform(job);
    return agree(file.comm(), function, std::move(outcome.error));
  }
  const auto views = file.views;
  TwoPhases act(job, function, shares, *views);
  Error exchange_failed;
  Error error = act.run_all(exchange_failed);
  if (exchange_failed) return exchange_failed;
  outcome.bytes = error ? 0 : act.bytes();
  return agree(file.comm(), function, std::move(error));
}

}  // namespace tutti::mpi
