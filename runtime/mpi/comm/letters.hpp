// SPDX-License-Identifier: BSD-3-Clause
// Letters: what ranks of a communicator tell some others, which do not know by whom they will be told. A letter goes by way
// of ranks between, one for each bit that is set in the distance that it has to go: so whoever takes part has 2 log2(p)
// messages, and room for what goes through it, however many ranks there are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "contract/signature.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

struct Letter {
  int32_t from, to;  // ranks
  int32_t number;    // among those of its sender
  std::array<int32_t, 3> words;
};

// Collective, on a communicator of one group. Returns the letters to this rank, by their senders and numbers.
// `signature`: of the call for which it is done.
Result<std::vector<Letter>> deliver(Comm& comm, std::vector<Letter> letters, contract::Word signature);

}  // namespace tutti::mpi
