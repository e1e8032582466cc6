// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a communicator say in a few bytes: a reduction to all of them, where a table of what each one says
// would be the same on every rank and as long as they are many. What travels, and what is held, is the same for any
// number of ranks.
#pragma once

#include <cstdint>
#include <span>

#include "base/function.hpp"
#include "base/layout.hpp"
#include "base/reduction.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

// Collective on the hidden channel, for the program's call of `function`; engine not owned. `mine` and `all`: one element
// of `layout`, which is dense. Operands meet in the order of ranks; all ranks get the same bytes.
Error reduce_to_all(Comm& comm, Function function, const Layout& layout, const Reduction& reduction, const void* mine,
                    void* all);

// By place the largest of the numbers, or their sum; in place.
Error largest_of_all(Comm& comm, Function function, std::span<uint64_t> numbers);
Error sum_of_all(Comm& comm, Function function, std::span<uint64_t> numbers);

}  // namespace tutti::mpi
