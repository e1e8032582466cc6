// SPDX-License-Identifier: BSD-3-Clause
// Which ranks can share memory, and by which way: where they see one /dev/shm, where they see each other's processes,
// or where they have a folder in common. On a node of their job all of these may fail: each rank may be in a container
// of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/function.hpp"
#include "mpi/comm/comm.hpp"
#include "transport/shared/shared_file.hpp"

namespace tutti::mpi {

// What a rank says of itself. Plain, for messages.
struct Sharing {
  // Equal only for ranks of one machine: their job's node or, where jobs are connected, the kernel since its start.
  uint64_t machine = 0;
  // By way: equal where it leads to the same place; all 0 where this rank has no such way.
  using Place = std::array<uint64_t, 2>;
  std::array<Place, transport::kSharedWays> places{};
};
Sharing sharing_of(const Comm& comm);

// The best way that all of them have; nullopt: there is none.
std::optional<transport::SharedWay> way_of_all(std::span<const Sharing> all);

// The first one of each one's group, as large as they can be: on each machine by the way that makes the fewest.
std::vector<int32_t> sharing_groups(std::span<const Sharing> all);

// Collective on a communicator (its hidden channel: the first group's ranks before the second's), for `function`;
// engine not owned.
Result<std::vector<Sharing>> sharing_of_all(Comm& comm, Function function);

// Collective among those whose `exchange` it is: what each gives in `mine`, `bytes` bytes, all get in `all`, by place.
using ExchangeBytes = std::function<Error(const void* mine, void* all, size_t bytes)>;
// Where a group shares in another way than by /dev/shm it is tried: whoever does not come to the memory of its group's
// first rank makes a group of its own. `groups` as above, or -1; `me`: my place among all.
Error try_groups(Comm& comm, const ExchangeBytes& exchange, int me, std::span<const Sharing> all,
                 std::vector<int32_t>& groups);

}  // namespace tutti::mpi
