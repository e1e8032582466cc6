// SPDX-License-Identifier: BSD-3-Clause
// The memory of a window that ranks of one node share: one file, in which each of them has its part, and in front of
// which lies what they say to each other (rma/node_words.hpp). Each rank has its own pages be there, so that they are
// near its processor, and so that none is missing when it is touched. Owns the file and where the parts are; refuses to
// know what is done with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function.hpp"
#include "base/result.hpp"
#include "mpi/comm/sharing.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/rma/parts.hpp"
#include "transport/shared/shared_file.hpp"

namespace tutti::mpi::one_sided {

struct NodeMemory {
  std::unique_ptr<transport::SharedFile> file;
  std::vector<int> ranks;        // of the window, ascending, that share it, mine among them
  int me = 0;                    // my place there
  std::vector<int64_t> offsets;  // in the file, of each one's part

  std::byte* base(size_t member) const { return file->base() + offsets[member]; }
  std::byte* mine() const { return base(static_cast<size_t>(me)); }
  // Where in `ranks` that one is; -1: it is not there.
  int member(int rank) const;
};

// Where the parts of these ranks lie in their file, and how many bytes that is, 0: too many. Each begins where the one
// before ends (together), or at a page of its own.
enum class Spacing : uint8_t { together, pages };
int64_t lay_out(const Parts& parts, const std::vector<int>& ranks, Spacing spacing, std::vector<int64_t>& offsets);

// Collective on `comm`, for `function`, engine not owned: the ranks of each of `groups` (sharing_groups()) share the
// parts of a window of which `name` is the only one, on all machines. Empty where a rank shares with nobody, and where
// there is no memory for some rank of its group: the same for all in it.
Result<std::unique_ptr<NodeMemory>> share_in_groups(Comm& comm, Function function, const Parts& parts,
                                                    const std::vector<Sharing>& sharing, const std::string& name);

// Collective likewise: all ranks share, or get an error that says why they cannot. `same`: whether it is true for this
// rank, and then whether it is true for all.
Result<std::unique_ptr<NodeMemory>> share_among_all(Comm& comm, const Parts& parts, transport::SharedWay way,
                                                    Spacing spacing, const std::string& name, bool& same);

}  // namespace tutti::mpi::one_sided
