// SPDX-License-Identifier: BSD-3-Clause
// How a communicator is divided: each rank says a color and a key in one exchange, and the context that it offers for
// the case that it comes first among its color. Calls whose colors follow from what all ranks say add that to it. Many
// ranks say their colors and keys in runs (base/split_runs.hpp) where these are few, and hear the context from the first
// one of their color.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/process_list.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "mpi/comm/agreement.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/comm/making.hpp"

namespace tutti::mpi {

// Whether a table of all ranks is avoided: from 64 ranks on, and with --stress, so that few ranks try it, too.
bool are_many(const Comm& comm);

// What each rank says.
struct SplitEntry {
  int32_t color;  // not negative, or MPI_UNDEFINED
  int32_t key;
  uint64_t context;  // divide_if() fills it in
  Said said;         // of what must agree
};

// What ranks of the hidden channel have said, in their order, which each of them has all of: `ranks`. Refers to it.
class SplitEntries {
 public:
  template <class Told>
  SplitEntries(std::span<const Told> all, ProcessList of)
      : ranks(std::move(of)), first_(all.data()), apart_(sizeof(Told)) {}

  int size() const { return ranks.size(); }
  const SplitEntry& operator[](int index) const {
    return *reinterpret_cast<const SplitEntry*>(reinterpret_cast<const std::byte*>(first_) +
                                                static_cast<size_t>(index) * apart_);
  }

  const ProcessList ranks;

 private:
  const SplitEntry* first_;
  size_t apart_;
};

// Whether some of the ranks may tell each other more once an exchange of all of them is over, as one of those below does: the
// ranks are of one group and one job, and whoever fails ends it. Where others go on, a rank that the exchange has failed on
// would be waited for.
bool may_tell_apart(const Comm& comm);

// Makes the communicator of the ranks that have this rank's color in `all`, and gives back the context that this rank has
// offered if another one's is taken.
Error take_part(Comm& comm, const SplitEntries& all, MPI_Comm* newcomm);

// All members of the new communicator know them, as ranks of the hidden channel of one group: the first one tells the
// others a context, in messages of their own.
Error make_of_members(Comm& comm, const ProcessList& members, MPI_Comm* newcomm);

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
  return take_part(comm, {std::span<const Told>(all), ProcessList::range(0, comm.hidden.size())}, newcomm);
}

}  // namespace tutti::mpi
