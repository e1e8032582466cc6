// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

#include "base/log.hpp"
#include "function_names.hpp"
#include "functions.hpp"
#include "mpi/object/hearsay.hpp"

namespace tutti::lib {
namespace {

// When the process ends, at log.level debug: what it has called.
struct Report {
  ~Report() {
    if (!log_enabled(Level::debug)) return;
    for (size_t i = 0; i < kFunctionCount; ++i)
      if (const uint64_t calls = counters[i].load(std::memory_order_relaxed))
        log_line(Level::debug, fmt::format("{} was called {} time{}", kFunctionNames[i], calls, calls == 1 ? "" : "s"));
  }
} report;

// By these a process learns nothing of how far others have come: the starts of operations on windows; what they are
// enclosed by, which waits for no more than that they are complete and for locks, where they bring nothing (those that do
// count by themselves, mpi/rma/races.cpp); and what asks for what does not change.
constexpr Function kDeaf[] = {Function::Put,
                              Function::Put_c,
                              Function::Get,
                              Function::Get_c,
                              Function::Accumulate,
                              Function::Accumulate_c,
                              Function::Get_accumulate,
                              Function::Get_accumulate_c,
                              Function::Fetch_and_op,
                              Function::Compare_and_swap,
                              Function::Rput,
                              Function::Rput_c,
                              Function::Rget,
                              Function::Rget_c,
                              Function::Raccumulate,
                              Function::Raccumulate_c,
                              Function::Rget_accumulate,
                              Function::Rget_accumulate_c,
                              Function::Win_lock,
                              Function::Win_lock_all,
                              Function::Win_unlock,
                              Function::Win_unlock_all,
                              Function::Win_flush,
                              Function::Win_flush_local,
                              Function::Win_flush_local_all,
                              Function::Win_flush_all,
                              Function::Comm_rank,
                              Function::Comm_size,
                              Function::Type_size,
                              Function::Get_address,
                              Function::Wtime};

// Whoever asks twice knows whether any other call was made in between.
uint64_t calls_that_may_hear() {
  uint64_t all = 0, deaf = 0;
  for (size_t i = 0; i < kFunctionCount; ++i) all += counters[i].load(std::memory_order_relaxed);
  for (const Function function : kDeaf) deaf += counters[static_cast<size_t>(function)].load(std::memory_order_relaxed);
  return all - deaf;
}

[[maybe_unused]] const bool set = (mpi::hearsay::calls_that_may_hear = calls_that_may_hear, true);

}  // namespace
}  // namespace tutti::lib
