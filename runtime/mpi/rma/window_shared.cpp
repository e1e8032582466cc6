// SPDX-License-Identifier: BSD-3-Clause
// Windows whose memory the ranks of a node share (the standard, section 12.2.3).
#include <algorithm>
#include <cstring>

#include "base/cpu.hpp"
#include "boot/joining.hpp"
#include "contract/signature.hpp"
#include "functions.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/comm/sharing.hpp"
#include "mpi/object/current.hpp"
#include "mpi/rma/api_window.hpp"

namespace tutti::mpi::one_sided {
namespace {

// How it went at a rank; MPI_SUCCESS, and what it has to say, or the first one's trouble is everybody's.
struct Verdict {
  int32_t error_class = MPI_SUCCESS;
  char text[300] = "";
};

// Collective: an error if anybody has one. `word`: a short one of rank 0's for all.
Error agree(Comm& comm, Error mine, std::string& word) {
  Verdict verdict;
  verdict.error_class = mine.mpi_class();
  const std::string& text = mine ? mine.message() : word;
  std::memcpy(verdict.text, text.data(), std::min(text.size(), sizeof verdict.text - 1));
  std::vector<Verdict> all(static_cast<size_t>(comm.size()));
  coll::Call exchange = allgather_bytes(&verdict, all.data(), sizeof verdict);
  exchange.signature = contract::word_of(Function::Win_allocate_shared);
  if (Error e = run(comm, exchange)) return e;
  for (const Verdict& v : all)
    if (v.error_class != MPI_SUCCESS) return Error(v.error_class, v.text);
  word = all.front().text;
  return {};
}

// Rank 0 makes the memory, the others open it by its word: they may be of other jobs. Communicators of several machines
// have one context, and may find themselves in one folder of a network: its number in the job is in the name.
Error share_memory(Window& window, transport::SharedWay way, int64_t bytes) {
  using transport::SharedFile;
  const std::string name =
      fmt::format("tutti.{}.win.{:x}.{}", own_job().view().id, window.comm->context(), my_process());
  const bool first = window.rank() == 0;
  Error error;
  const auto keep = [&](Result<std::unique_ptr<SharedFile>> file) {
    if (file)
      window.shared = *std::move(file);
    else
      error = std::move(file).error();
  };
  if (first) keep(SharedFile::make(way, name, bytes));
  std::string word = first && window.shared ? window.shared->word() : "";
  if (Error e = agree(*window.comm, std::move(error), word)) return e;
  error = {};
  if (!first) keep(SharedFile::open(word, bytes));
  Error outcome = agree(*window.comm, std::move(error), word);
  if (first) window.shared->forget_name();
  return outcome;
}

}  // namespace

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
  int64_t bytes = 0;
  for (int rank = 0; rank < window.size(); ++rank) {
    if (apart) bytes = static_cast<int64_t>(cpu::whole_lines(static_cast<size_t>(bytes)));
    window.offsets.push_back(bytes);
    if (__builtin_add_overflow(bytes, window.parts[rank].size, &bytes) || bytes > INT64_MAX / 2)
      return failure(MPI_ERR_SIZE, "the sizes of all ranks make more than 2^62 bytes (argument size)");
  }
  if (Error e = share_memory(window, *way, std::max<int64_t>(bytes, 1))) return e;
  void* const base = window.shared->base() + window.offsets[static_cast<size_t>(window.rank())];
  *win = open_window(window, base);
  *static_cast<void**>(baseptr) = base;
  return {};
}

Error win_shared_query(Window& win, int rank, MPI_Aint* size, int64_t& disp_unit, void* baseptr) {
  if (win.flavor == MPI_WIN_FLAVOR_DYNAMIC)
    return failure(MPI_ERR_RMA_FLAVOR,
                   "a window of MPI_Win_create_dynamic has no memory of its own to share (argument win)");
  void*& base = *static_cast<void**>(baseptr);
  if (rank == MPI_PROC_NULL) {  // the first that has any
    rank = 0;
    while (rank + 1 < win.size() && win.parts[rank].size == 0) ++rank;
    if (win.parts[rank].size == 0) rank = 0;
  }
  const Part& part = win.parts[rank];
  const bool here = win.shared || rank == win.rank();
  *size = here ? part.size : 0;  // 0: it cannot be accessed directly
  disp_unit = part.unit;
  base = !here        ? nullptr
         : win.shared ? static_cast<void*>(win.shared->base() + win.offsets[static_cast<size_t>(rank)])
                      : win.base;
  return {};
}

}  // namespace tutti::mpi::one_sided
