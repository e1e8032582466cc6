// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/steady.hpp"

#include <mpi.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tutti::mpi {

// ---- arrays

void SteadyArrays::add_of(const coll::Call& call, const Comm& comm) {
  const coll::ArrayLengths lengths(call, comm.size());
  const bool both = call.in_displacements && call.out_displacements;
  add("sendcounts", call.in_counts, lengths.in);
  add(both ? "sdispls" : "displs", call.in_displacements, lengths.in);
  add("recvcounts", call.out_counts, lengths.out);
  add(both ? "rdispls" : "displs", call.out_displacements, lengths.out);
}

void SteadyArrays::add(const char* argument, const Ints& numbers, int length) {
  if (!numbers || length <= 0) return;
  std::vector<std::byte> held(static_cast<size_t>(length) * static_cast<size_t>(numbers.width()));
  std::memcpy(held.data(), numbers.data(), held.size());
  arrays_.push_back({argument, numbers, std::move(held)});
}

Error SteadyArrays::judge(const char* until) const {
  for (const Array& array : arrays_) {
    std::vector<std::byte> now(array.held.size());
    const ssize_t got = read_what_is_there(reinterpret_cast<uintptr_t>(array.numbers.data()), now.data(), now.size());
    if (got < 0 && errno != EFAULT) return {};  // the kernel may not be asked
    if (got < static_cast<ssize_t>(now.size()))
      return failure(MPI_ERR_ARG, "the array was freed: {} (argument {})", until, array.argument);
    if (now == array.held) continue;
    const auto width = static_cast<size_t>(array.numbers.width());
    size_t i = 0;
    while (std::memcmp(&now[i * width], &array.held[i * width], width) == 0) ++i;
    const auto number = [&](const std::vector<std::byte>& of) {
      return width == 4 ? Ints(reinterpret_cast<const int32_t*>(of.data()))[static_cast<int64_t>(i)]
                        : Ints(reinterpret_cast<const int64_t*>(of.data()))[static_cast<int64_t>(i)];
    };
    return failure(MPI_ERR_ARG, "element {} of the array was {} and is {}: {} (argument {})", i, number(array.held),
                   number(now), until, array.argument);
  }
  return {};
}

// ---- all of an operation

void Steady::keep(const void* owner, std::unique_ptr<SentCopy> copy, CallSite started) {
  if (!copy) return;
  const Lock lock(mutex_);
  Kept& kept = of_[owner];
  kept.copies.push_back(std::move(copy));
  kept.started = started;
}

void Steady::keep(const void* owner, SteadyArrays arrays) {
  if (arrays.empty()) return;
  const Lock lock(mutex_);
  of_[owner].arrays = std::move(arrays);
}

void Steady::judge(Kept& kept) {
  if (std::exchange(kept.judged, true)) return;
  for (const std::unique_ptr<SentCopy>& copy : kept.copies)
    if (!kept.found) kept.found = copy->judge();
  if (!kept.found)
    kept.found = kept.arrays.judge(
        "arrays of a nonblocking collective stay as they are until it is complete (the standard, section 6.12)");
  kept.copies.clear();
}

Error Steady::judge(const void* owner) {
  const Lock lock(mutex_);
  const auto at = of_.find(owner);
  if (at == of_.end()) return {};
  Kept& kept = at->second;
  judge(kept);
  if (!kept.found) return {};
  if (kept.started.caller) mentions().push_back({"the operation was started by", kept.started});
  return Error(kept.found.mpi_class(), kept.found.message());
}

void Steady::end(const void* owner) {
  const Lock lock(mutex_);
  const auto at = of_.find(owner);
  if (at != of_.end()) judge(at->second);
}

void Steady::drop(const void* owner) {
  const Lock lock(mutex_);
  of_.erase(owner);
}

}  // namespace tutti::mpi
