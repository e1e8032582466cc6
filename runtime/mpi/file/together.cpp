// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/together.hpp"

#include <algorithm>
#include <limits>

#include "contract/signature.hpp"
#include "io/identity.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/file/domains.hpp"
#include "mpi/file/two_phase.hpp"

namespace tutti::mpi::file {
namespace {

constexpr int kSampled = 64;                         // pieces that are looked at
constexpr int64_t kMostOfViews = int64_t{64} << 20;  // bytes of all ranks' views, as they travel

int64_t mean_piece(const io::View& view, int64_t position, int64_t bytes) {
  int64_t seen = 0;
  int pieces = 0;
  view.each_run(position, bytes, [&](int64_t, int64_t, int64_t n) { return seen += n, ++pieces < kSampled; });
  return pieces ? seen / pieces : 0;
}

bool interleave(std::vector<Contribution> shares) {
  std::erase_if(shares, [](const Contribution& s) { return s.bytes == 0; });
  std::ranges::sort(shares, {}, &Contribution::low);
  for (size_t i = 1; i < shares.size(); ++i)
    if (shares[i].low < shares[i - 1].high) return true;
  return false;
}

// Of the rank that has the smallest ones.
int64_t smallest_piece(const std::vector<Contribution>& shares) {
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (const Contribution& s : shares)
    if (s.bytes > 0) smallest = std::min(smallest, s.piece);
  return smallest;
}

// Pieces so far from each other that exchanging the windows costs more than a call for each piece of any rank.
bool scattered(const File& file, const std::vector<Contribution>& shares) {
  int64_t low = std::numeric_limits<int64_t>::max(), high = 0, most = 0;
  for (const Contribution& s : shares) {
    if (s.bytes == 0) continue;
    low = std::min(low, s.low);
    high = std::max(high, s.high);
    most = std::max(most, s.bytes / std::max<int64_t>(s.piece, 1));
  }
  return (high - low) / aggregators_of(file, shares) / std::max<int64_t>(shares[0].buffer_size, 1) >
         most * shares[0].call;
}

bool in_two_phases(const File& file, const std::vector<Contribution>& shares) {
  const auto wanted = static_cast<Hints::CollectiveBuffering>(shares[0].buffering);
  if (shares.size() == 1 || wanted == Hints::CollectiveBuffering::never) return false;
  if (!std::ranges::all_of(shares, [](const Contribution& s) { return s.fit != 0; })) return false;
  if (std::ranges::all_of(shares, [](const Contribution& s) { return s.bytes == 0; })) return false;
  if (wanted == Hints::CollectiveBuffering::always) return true;
  return smallest_piece(shares) < shares[0].large && interleave(shares) && !scattered(file, shares);
}

// Pieces between other ranks' that are as well moved by whoever has them. Measured in pairs with 4
// and 8 ranks on the two cores of an EPYC, November 2026, calls of 256 KiB and 1 MiB a rank: from
// 16 KiB on reads take two to five times as long in two phases, of tmpfs and of ext4's page cache;
// writes 1.2 to 1.6 times on tmpfs, but on ext4 0.5 to 1.0 times at 16 KiB, 0.8 to 1.5 times at 32,
// 0.9 to 1.8 at 64. What a file system of the network does was not measured: there a call costs
// more than a copy.
int64_t large_piece(const io::Identity& file, bool writes) {
  switch (file.system) {
    case io::System::memory:
      return 16 << 10;
    case io::System::local:
    case io::System::overlay:
      return writes ? 32 << 10 : 16 << 10;
    case io::System::unknown:
    case io::System::network:
      break;
  }
  return 64 << 10;
}

// An exchange between ranks that share memory takes some microseconds, which is what a call takes that finds the file in
// memory; a file server answers after some hundred.
int64_t exchanges_per_call(const io::Identity& file) {
  return file.system == io::System::unknown || file.system == io::System::network ? 16 : 1;
}

Contribution share_of(const PlacedAccess& job) {
  const io::View& view = job.view->bytes;
  const int64_t bytes = job.bytes();
  Contribution mine{};
  mine.position = job.position;
  mine.bytes = bytes;
  if (bytes > 0) {
    mine.low = view.offset_of(job.position);
    mine.high = view.offset_of(job.position + bytes - 1) + 1;
    mine.piece = mean_piece(view, job.position, bytes);
  }
  // Tiles that reach into each other have no order by which a window could be found, and so it is with pieces of a tile.
  const bool in_order = view.tile->extent() >= view.tile->true_extent() && !job.view->overlaps;
  mine.fit = in_order && !job.converts() && !job.atomic;
  File& file = *job.file;
  const Lock lock(file.mutex);
  mine.buffer_size = file.hints.cb_buffer_size;
  mine.buffering = static_cast<int32_t>(job.writes ? file.hints.buffered_writes : file.hints.buffered_reads);
  mine.aggregators = file.hints.cb_nodes;
  if (file.rank() == 0) {
    const io::Stripes stripes = file.io->stripes();
    mine.stripe = file.hints.striping_unit > 0 ? file.hints.striping_unit : stripes.bytes;
    mine.stripes = file.hints.striping_factor > 0 ? file.hints.striping_factor : stripes.count;
    mine.large = large_piece(file.io->identity(), job.writes);
    mine.call = exchanges_per_call(file.io->identity());
  }
  return mine;
}

}  // namespace

Together::Together(PlacedAccess of, Function function, bool in_pool, Error mine)
    : job(std::move(of)), function_(function), in_pool_(in_pool) {
  outcome.error = std::move(mine);
}
Together::~Together() = default;

const coll::Call* Together::ask(const coll::Call& call, Stage then) {
  call_ = call;
  if (!call_.signature) call_.signature = contract::word_of(function_);
  stage_ = then;
  return &call_;
}

const coll::Call* Together::next() {
  switch (stage_) {
    case Stage::shares:
      return say_share();
    case Stage::decide:
      return decide();
    case Stage::learn_views:
      return send_views();
    case Stage::take_views:
      return take_views();
    case Stage::windows:
      return next_window();
    case Stage::agree:
      return agree();
    case Stage::judge:
      return judge();
    case Stage::told:
      return hear();
    case Stage::over:
      break;
  }
  return nullptr;
}

const coll::Call* Together::say_share() {
  File& file = *job.file;
  if (file.size() == 1) {
    if (!outcome.error) outcome = perform(job);
    stage_ = Stage::over;
    return nullptr;
  }
  if (!outcome.error) {
    mine_ = share_of(job);
    if (!job.writes) outcome.error = file.io->size(mine_.file_size);
  }
  mine_.failed = outcome.error.mpi_class();
  shares_.resize(static_cast<size_t>(file.size()));
  return ask(allgather_bytes(&mine_, shares_.data(), sizeof mine_), Stage::decide);
}

const coll::Call* Together::decide() {
  const auto failed = std::ranges::find_if(shares_, [](const Contribution& s) { return s.failed != 0; });
  if (failed != shares_.end()) return tell(static_cast<int>(failed - shares_.begin()));
  File& file = *job.file;
  if (!in_two_phases(file, shares_)) return alone();
  // All ranks have asked for the views at the same call, or none has.
  bool too_large;
  {
    const Lock lock(file.mutex);
    known_ = file.views;
    too_large = file.views_too_large;
  }
  if (too_large) return alone();
  return known_ ? next_window() : say_view();
}

const coll::Call* Together::alone() {
  outcome = perform(job);
  return agree();
}

// Every rank's view, once for each MPI_File_set_view.
const coll::Call* Together::say_view() {
  own_view_.clear();
  job.view->bytes.tile->write(own_view_);
  said_ = {job.view->bytes.displacement, static_cast<int64_t>(own_view_.size())};
  all_said_.resize(shares_.size());
  return ask(allgather_bytes(&said_, all_said_.data(), sizeof said_), Stage::learn_views);
}

const coll::Call* Together::send_views() {
  int64_t total = 0;
  for (const Said& said : all_said_) {
    counts_.push_back(said.bytes);
    places_.push_back(total);
    total += said.bytes;
  }
  if (total > kMostOfViews) {
    {
      const Lock lock(job.file->mutex);
      job.file->views_too_large = true;
    }
    return alone();
  }
  views_.resize(static_cast<size_t>(total));
  return ask({.kind = coll::Collective::allgatherv,
              .in = own_view_.data(),
              .out = views_.data(),
              .in_count = static_cast<int64_t>(own_view_.size()),
              .in_layout = &Layout::bytes(),
              .out_layout = &Layout::bytes(),
              .out_counts = Ints(counts_.data()),
              .out_displacements = Ints(places_.data())},
             Stage::take_views);
}

const coll::Call* Together::take_views() {
  auto views = std::make_shared<std::vector<io::View>>();
  for (size_t r = 0; r < all_said_.size(); ++r) {
    std::span<const std::byte> from(views_.data() + places_[r], static_cast<size_t>(counts_[r]));
    LayoutRef tile = Layout::read(from);
    if (!tile) {  // as on all ranks: they have read the same
      outcome.error = failure(MPI_ERR_INTERN, "{}: the view of rank {} cannot be read", job.file->name, r);
      return agree();
    }
    views->push_back({all_said_[r].displacement, std::move(tile)});
  }
  known_ = std::move(views);
  {
    const Lock lock(job.file->mutex);
    job.file->views = known_;
  }
  return next_window();
}

const coll::Call* Together::next_window() {
  if (!act_) act_ = std::make_unique<TwoPhases>(job, shares_, *known_, !in_pool_);
  if (const coll::Call* const call = act_->next()) return ask(*call, Stage::windows);
  outcome.error = act_->take_error();
  outcome.bytes = outcome.error ? 0 : act_->bytes();
  act_.reset();
  return agree();
}

// Nobody goes on before it is known whether all could do their part.
const coll::Call* Together::agree() {
  own_class_ = outcome.error.mpi_class();
  classes_.resize(shares_.size());
  return ask(allgather_bytes(&own_class_, classes_.data(), sizeof own_class_), Stage::judge);
}

const coll::Call* Together::judge() {
  const auto failed = std::ranges::find_if(classes_, [](int32_t c) { return c != 0; });
  if (failed != classes_.end()) return tell(static_cast<int>(failed - classes_.begin()));
  stage_ = Stage::over;
  return nullptr;
}

const coll::Call* Together::tell(int first) {
  first_ = first;
  if (job.file->rank() == first) told_.set(outcome.error);
  coll::Call call = bcast_bytes(&told_, sizeof told_, first);
  call.signature = contract::word_of(function_, first);
  return ask(call, Stage::told);
}

const coll::Call* Together::hear() {
  if (!outcome.error) outcome.error = told_.from(first_);
  stage_ = Stage::over;
  return nullptr;
}

}  // namespace tutti::mpi::file
