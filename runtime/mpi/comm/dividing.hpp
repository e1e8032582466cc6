// SPDX-License-Identifier: BSD-3-Clause
// How a communicator is divided: each rank says a color and a key in one exchange, and the context that it offers for
// the case that it comes first among its color. Calls whose colors follow from what all ranks say add that to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "mpi/comm/agreement.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/comm/making.hpp"

namespace tutti::mpi {

// What each rank says.
struct SplitEntry {
  int32_t color;  // not negative, or MPI_UNDEFINED
  int32_t key;
  uint64_t context;  // divide_if() fills it in
  Said said;         // of what must agree
};

// Makes the communicator of the ranks that have this rank's color in `all`, which is by rank of the hidden channel and the
// same on all ranks, and gives back the context that this rank has offered if another one's is taken.
Error take_part(Comm& comm, const std::vector<SplitEntry>& all, MPI_Comm* newcomm);

// Collective. Over two groups their union is divided as one group is. `Told` is a SplitEntry, or one with more in it
// that travels as bytes. `agree` looks at what all ranks have said, and refuses on all of them or on none; it may change
// the colors, in the same way on all ranks. Who says MPI_UNDEFINED will not be given another color.
template <class Told, class Agree>
Error divide_if(Comm& comm, Function function, Told mine, Agree&& agree, MPI_Comm* newcomm) {
  mine.context = offer_context(comm, mine.color != MPI_UNDEFINED);
  std::vector<Told> all(static_cast<size_t>(comm.hidden.size()));
  coll::Call exchange = allgather_bytes(&mine, all.data(), sizeof mine);
  exchange.signature = contract::word_of(function);
  Error e = run(comm, exchange);
  if (!e) e = agree(std::span<Told>(all));
  if (e) {
    if (mine.context != engine::kNoContext) comm.contexts().release(mine.context);
    return e;
  }
  return take_part(comm, {all.begin(), all.end()}, newcomm);
}

}  // namespace tutti::mpi
