// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/written.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/flight.hpp"
#include "base/os/source_place.hpp"
#include "contract/signature.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/file/told_failure.hpp"

namespace tutti::mpi::file {
namespace {

constexpr int64_t kMostExchanged = 64 << 20;  // bytes of all ranks

// A run of another rank, with its call as all ranks understand it.
struct TheirRun {
  int64_t low = 0, high = 0;
  uint16_t function = 0;
  CodeAddress address;
};

std::vector<TheirRun> unpacked(std::span<const std::byte> bytes) {
  std::vector<TheirRun> runs;
  for (TheirRun run; get(bytes, run.low) && get(bytes, run.high) && get(bytes, run.function) &&
                     get(bytes, run.address.offset) && get_text(bytes, run.address.module);)
    runs.push_back(run);
  return runs;
}

// What each rank gives to all. Empty: too much.
Error gather(Comm& comm, Function function, const Bytes& mine, std::vector<std::vector<std::byte>>& each) {
  std::vector<int64_t> counts, places;
  if (Error e = exchange(comm, function, static_cast<int64_t>(mine.size()), counts)) return e;
  int64_t total = 0;
  for (const int64_t count : counts) {
    places.push_back(total);
    total += count;
  }
  // Nobody can meet anybody where one rank alone has written.
  if (total > kMostExchanged || std::ranges::count_if(counts, [](int64_t count) { return count > 0; }) < 2) return {};
  std::vector<std::byte> all(static_cast<size_t>(total));
  coll::Call call{.kind = coll::Collective::allgatherv,
                  .in = mine.data(),
                  .out = all.data(),
                  .in_count = static_cast<int64_t>(mine.size()),
                  .in_layout = &Layout::bytes(),
                  .out_layout = &Layout::bytes(),
                  .out_counts = Ints(counts.data()),
                  .out_displacements = Ints(places.data())};
  call.signature = contract::word_of(function);
  if (Error e = run(comm, call)) return e;
  for (size_t r = 0; r < counts.size(); ++r)
    each.emplace_back(all.begin() + places[r], all.begin() + places[r] + counts[r]);
  return {};
}

}  // namespace

void Written::add(const PlacedAccess& job, CallSite place) {
  if (!job.writes || job.atomic || job.bytes() == 0) return;
  std::vector<Run> found;
  job.view->bytes.each_run(job.position, job.bytes(),
                           [&](int64_t at, int64_t, int64_t bytes) { return append(found, {at, at + bytes, place}); });
  const Lock lock(mutex_);
  for (const Run& run : found)
    if (!append(runs_, run)) return;
}

bool Written::append(std::vector<Run>& runs, const Run& run) {
  if (!runs.empty() && runs.back().high == run.low && runs.back().place.caller == run.place.caller) {
    runs.back().high = run.high;
    return true;
  }
  if (runs.size() == kMostRuns) return false;
  runs.push_back(run);
  return true;
}

Bytes Written::packed(const std::vector<Run>& runs) {
  Bytes bytes;
  CallSite latest;
  CodeAddress address;
  for (const Run& run : runs) {
    if (run.place.caller != latest.caller) address = code_address(run.place.caller);
    latest = run.place;
    put(bytes, run.low);
    put(bytes, run.high);
    put(bytes, run.place.function);
    put(bytes, address.offset);
    put_text(bytes, address.module);
  }
  return bytes;
}

Error Written::compare(File& file, Function function) {
  if (file.size() == 1) return {};
  std::vector<Run> mine;
  {
    const Lock lock(mutex_);
    mine.swap(runs_);
  }
  std::vector<std::vector<std::byte>> all;
  if (Error e = gather(file.comm(), function, packed(mine), all)) return e;
  if (all.empty() || mine.empty()) return {};
  std::ranges::sort(mine, {}, &Run::low);
  std::vector<int64_t> reach;  // how far the runs up to each one go, which may overlap each other
  for (const Run& own : mine) reach.push_back(reach.empty() ? own.high : std::max(reach.back(), own.high));
  std::set<std::pair<uint64_t, uint64_t>> told;  // pairs of calls
  for (int rank = 0; rank < file.rank(); ++rank) {
    for (const TheirRun& theirs : unpacked(all[static_cast<size_t>(rank)])) {
      for (auto i = static_cast<size_t>(std::ranges::upper_bound(reach, theirs.low) - reach.begin()); i < mine.size();
           ++i) {
        const Run& own = mine[i];
        if (own.low >= theirs.high) break;
        if (own.high <= theirs.low || !told.emplace(own.place.caller, theirs.address.offset).second) continue;
        const CodeAddress there[] = {theirs.address};
        const int64_t low = std::max(own.low, theirs.low), high = std::min(own.high, theirs.high);
        strict->tells_at_end(
            contract::NoteKind::file_race, own.place,
            fmt::format("{} of {}, which rank {} writes by {} at {}",
                        high - low == 1 ? fmt::format("byte {}", low) : fmt::format("bytes {} to {}", low, high - 1),
                        file.name, file.comm().process_of(rank), flight::name_of_function(theirs.function),
                        source_places(there)[0]));
      }
    }
  }
  return {};
}

}  // namespace tutti::mpi::file
