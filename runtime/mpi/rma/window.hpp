// SPDX-License-Identifier: BSD-3-Clause
// Windows (the standard, chapter 12): a communicator of the window's own, whose contexts keep its
// messages apart; the memory of this process; and what is known of the others' memory. Which epochs
// are open, what they mean, and how operations travel is rma/'s.
#pragma once

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/function.hpp"
#include "base/layout.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/attribute.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/request/watch.hpp"
#include "mpi/rma/node_memory.hpp"
#include "mpi/rma/parts.hpp"
#include "rma/epochs.hpp"

namespace tutti::rma {
class WindowEnd;
}

namespace tutti::mpi::one_sided {

class Races;

// Large: it is an object of the standard, with a field for each thing that one knows of a window.
class Window final : public HasErrhandler {
 public:
  struct Freed {
    void operator()(void* memory) const { std::free(memory); }
  };

  Window(Ref<Comm> comm, int flavor);
  ~Window() override;

  int rank() const { return comm->rank(); }
  int size() const { return comm->size(); }
  int process_of(int rank) const { return comm->process_of(rank); }

  const Ref<Comm> comm;
  const int flavor;  // MPI_WIN_FLAVOR_…
  const int model = MPI_WIN_UNIFIED;
  void* base = nullptr;  // of this process' part
  MPI_Aint bytes = 0;
  int unit = 1;  // as the attribute tells it
  Parts parts;   // of all ranks
  std::unique_ptr<rma::WindowEnd> protocol;
  rma::Epochs epochs;  // touched with the engine owned
  // Likewise: how often a call of synchronisation had nothing written to complete, so that the program may be looking
  // again and again for what another rank is to write; and whether the next such call has something.
  unsigned looks = 0;
  bool has_written = false;
  // Likewise: MPI_Win_lock_all has asked for the locks of some, and those of others are asked for by ask_for_lock(), when
  // there is an operation at them.
  bool locks_when_used = false;

  std::unique_ptr<void, Freed> allocated;  // MPI_Win_allocate, where it shares memory with nobody
  std::unique_ptr<NodeMemory> node;        // MPI_Win_allocate_shared, and MPI_Win_allocate where it does

  // Under --check=strict: what operations use here, by target, until a call on the window says that they are
  // complete, or that with the request of one does, which owns what it uses. The engine's owner's.
  struct InUse {
    std::vector<LayoutRef> layouts;
  };
  struct InUseAt {
    std::deque<InUse> own;
    std::deque<std::weak_ptr<InUse>> of_requests;
  };
  std::vector<InUseAt> in_use;
  void drop_in_use(int rank) TUTTI_ENGINE_OWNED {  // rma::kAll: of all
    if (!in_use.empty() || !watchers.empty()) [[unlikely]]
      drop_those(rank);
  }

  // Whose action operations under way at `rank`, or at all (rma::kAll), need: that of those who come before with the
  // locks that they wait for, if there are any; as one term.
  void add_needs(life::Condition& needs, int rank) const TUTTI_ENGINE_OWNED;
  void add_needs_of_lock(life::Condition& needs, int rank) const TUTTI_ENGINE_OWNED;

  // Tells the watcher when a call says that the operations without a request that have been started at `rank` are
  // locally complete. False: they are so already, and nothing will be told.
  bool watch(int rank, WatchFunction watcher, void* state);
  // Under --check=strict: accesses that nothing orders (races.hpp).
  std::unique_ptr<Races> races;
  // By target, once there was any. The engine's owner's.
  std::vector<Watchers> watchers;

  int call_user(const Errhandler& with, int code) override {
    return call_with_handle<MPI_Win_errhandler_function>(with, handle, code);
  }
  contract::Ledger* ledger() const override { return comm->ledger(); }
  std::string description() const override { return comm->description(); }
  const char* noun() const override { return "window"; }

  AttributeSet attributes{KeyKind::win};
  std::vector<Info::Entry> hints;  // those that Tutti knows of
  MPI_Win handle = MPI_WIN_NULL;

 private:
  void drop_those(int rank) TUTTI_ENGINE_OWNED;
};

// Hints of `info` that are known; the others are ignored (12.2.1).
void take_hints(Window& window, const Info* info);
// What MPI_Win_get_info tells of one that is settled when the window is made, by all ranks or by where memory was found.
void decide_hint(Window& window, std::string_view key, std::string value);

// Collective: a window on a duplicate of `comm`, made by the call `function`; all know of each
// other's memory. `apart`: whether this rank, and then whether each rank, wishes parts that need
// not follow each other.
Result<Ref<Window>> make_window(Comm& comm, Function function, int flavor, const Info* info, Part mine,
                                bool* apart = nullptr);
// Whether this process may carry out operations in memory that it shares: not where somebody looks on who has to see
// them come (--check=strict, the sanitizers), or where ranks of the node have no means to wake each other.
bool may_go_direct(const Comm& comm);
// A name in the node for memory of a window that is being made.
std::string name_of_memory(const Window& window);
// Before open_window(), on all ranks that share window.node: operations among them go in that memory.
void go_direct(Window& window);
// The memory is there: others may access it, and the program gets the handle.
MPI_Win open_window(Window& window, void* base);

// Before an operation at this rank, where Window::locks_when_used. May wait, for locks of another window.
void ask_for_lock(Window& window, int rank) TUTTI_ENGINE_OWNED;

// What the argument checks of the constructors say.
Error bad_size(MPI_Aint size);
Error bad_unit(int64_t unit);

}  // namespace tutti::mpi::one_sided
