// SPDX-License-Identifier: BSD-3-Clause
// Windows whose memory the ranks of a node share (the standard, section 12.2.3).
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/context.hpp"
#include "functions.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/comm/sharing.hpp"
#include "mpi/object/current.hpp"
#include "mpi/rma/api_window.hpp"

namespace tutti::mpi::one_sided {

Error win_allocate_shared(MPI_Aint size, int64_t disp_unit, Info* info, Comm& comm, void* baseptr, MPI_Win* win) {
  if (comm.is_inter()) return failure(MPI_ERR_COMM, "a window wants an intracommunicator (argument comm)");
  if (Error e = bad_size(size)) return e;
  if (Error e = bad_unit(disp_unit)) return e;
  Result<std::vector<Sharing>> sharing = sharing_of_all(comm, Function::Win_allocate_shared);
  if (!sharing) return std::move(sharing).error();
  const std::optional<transport::SharedWay> way = way_of_all(*sharing);
  if (!way)
    return failure(
        MPI_ERR_RMA_SHARED,
        "the ranks of the communicator have no memory to share: they are on several nodes, or in containers that have "
        "no /dev/shm in common; divide it with MPI_Comm_split_type and MPI_COMM_TYPE_SHARED first (argument comm)");
  bool apart = info && info->get("alloc_shared_noncontig") == "true";
  Result<Ref<Window>> made =
      make_window(comm, Function::Win_allocate_shared, MPI_WIN_FLAVOR_SHARED, info, {size, disp_unit}, &apart);
  if (!made) return std::move(made).error();
  Window& window = **made;
  bool direct = may_go_direct(*window.comm) && !engine::spans_jobs(window.comm->context());
  Result<std::unique_ptr<NodeMemory>> node = share_among_all(
      comm, window.parts, *way, apart ? Spacing::pages : Spacing::together, name_of_memory(window), direct);
  if (!node) return std::move(node).error();
  window.node = *std::move(node);
  if (direct) go_direct(window);
  // Parts that follow each other begin wherever the one before ends, those that do not at pages.
  if (apart) {
    decide_hint(window, "alloc_shared_noncontig", "true");
    decide_hint(window, "mpi_minimum_memory_alignment", std::to_string(std::min<size_t>(alignment_of(info), 4096)));
  }
  void* const base = window.node->mine();
  *win = open_window(window, base);
  *static_cast<void**>(baseptr) = base;
  if (strict) [[unlikely]]
    strict->orders_unseen();
  return {};
}

Error win_shared_query(Window& win, int rank, MPI_Aint* size, int64_t& disp_unit, void* baseptr) {
  if (win.flavor == MPI_WIN_FLAVOR_DYNAMIC)
    return failure(MPI_ERR_RMA_FLAVOR,
                   "a window of MPI_Win_create_dynamic has no memory of its own to share (argument win)");
  if (strict) [[unlikely]]
    strict->orders_unseen();
  void*& base = *static_cast<void**>(baseptr);
  if (rank == MPI_PROC_NULL) {  // the first that has any
    rank = 0;
    while (rank + 1 < win.size() && win.parts[rank].size == 0) ++rank;
    if (win.parts[rank].size == 0) rank = 0;
  }
  const Part& part = win.parts[rank];
  const int member = win.node ? win.node->member(rank) : -1;
  const bool here = member >= 0 || rank == win.rank();
  *size = here ? part.size : 0;  // 0: it cannot be accessed directly
  disp_unit = part.unit;
  base = member >= 0 ? static_cast<void*>(win.node->base(static_cast<size_t>(member))) : here ? win.base : nullptr;
  return {};
}

}  // namespace tutti::mpi::one_sided
