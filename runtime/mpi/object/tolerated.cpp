// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/tolerated.hpp"

#include <atomic>
#include <utility>

#include "base/log.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/object/process.hpp"
#include "mpi/object/watcher.hpp"

namespace tutti::mpi {
namespace {

std::atomic<bool>& told_of(Tolerated kind) {
  return process().told_tolerated[static_cast<size_t>(kind)];
}

}  // namespace

bool is_told(Tolerated kind) {
  return !checking.watcher && (!own_checker() || told_of(kind).load(std::memory_order_relaxed));
}

Error tolerated(Tolerated kind, Error error, const HasErrhandler* on, bool tells) {
  if (checking.watcher) return checking.watcher->found(std::move(error));
  const std::vector<Mention> said = std::exchange(mentions(), {});
  // The flag orders nothing but who says it.
  if (!tells || !own_checker() || told_of(kind).exchange(true, std::memory_order_relaxed)) return {};
  std::string text = error.message() +
                     "; carried out all the same, for other MPIs do so, and told once: "
                     "--check=strict makes an error of it";
  // Calls that are quickly over are not recorded.
  if (here().caller != 0)
    for (const std::string& line : story_of(here(), on, said)) text += "\n  " + line;
  log_line(Level::warning, text);
  return {};
}

}  // namespace tutti::mpi
