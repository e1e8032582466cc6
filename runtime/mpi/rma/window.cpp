// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing windows (the standard, section 12.2).
#include "mpi/rma/window.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "boot/joining.hpp"
#include "contract/checker.hpp"
#include "contract/ledger.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "function_names.hpp"
#include "functions.hpp"
#include "memory/kernels.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"
#include "mpi/rma/api_window.hpp"
#include "mpi/rma/races.hpp"
#include "mpi/rma/seen_window.hpp"
#include "rma/window_end.hpp"
#include "transport/router.hpp"

namespace tutti::mpi::one_sided {
namespace {

using engine::Engine;

void apply(uint8_t operation, uint8_t element, const void* in, void* inout, int64_t count) {
  const memory::Kernel kernel =
      memory::find_kernel(static_cast<memory::OpCode>(operation), static_cast<Element>(element));
  kernel({}, in, inout, inout, count);
}

}  // namespace

const Layout& layout_of(uint8_t element) {
  static const auto table = [] {
    std::vector<const Layout*> layouts(static_cast<size_t>(Element::count), nullptr);
    for (const NamedHandle& named : kDatatypeNames)
      if (const Datatype* type = HandleOf<Datatype>::predefined(named.value))
        layouts[static_cast<size_t>(type->element)] = type->layout.get();
    return layouts;
  }();
  return *table[element];
}

namespace {

constexpr rma::Arithmetic kArithmetic{apply, layout_of};

Error no_window_on(const Comm& comm) {
  if (!comm.is_inter()) return {};
  return failure(MPI_ERR_COMM, "a window wants an intracommunicator (argument comm)");
}

}  // namespace

Window::Window(Ref<Comm> given, int flavor)
    : HasErrhandler(Tag::win, Errhandler::On::window, Ref<Errhandler>(&predefined_errhandler(MPI_ERRORS_ARE_FATAL))),
      comm(std::move(given)),
      flavor(flavor),
      handle(handle_of(*this)) {
  attributes.set_predefined(MPI_WIN_SIZE, &bytes);
  attributes.set_predefined(MPI_WIN_DISP_UNIT, &unit);
  attributes.set_predefined(MPI_WIN_CREATE_FLAVOR, &this->flavor);
  attributes.set_predefined(MPI_WIN_MODEL, &model);
}

bool Window::watch(int rank, WatchFunction watcher, void* state) {
  const Engine::Guard own(comm->engine());
  if (rank < 0) return false;
  // What --check=strict compares stays until the call by which the program hears of it.
  const bool is_compared = strict && !in_use.empty() && !in_use[static_cast<size_t>(rank)].own.empty();
  if (!is_compared && protocol->origin().is_locally_complete(rank)) return false;
  if (watchers.empty()) watchers.resize(static_cast<size_t>(size()));
  watchers[static_cast<size_t>(rank)].add(watcher, state);
  return true;
}

// Whoever holds a lock has to give it up, and whose memory it is may still be about to tell.
void Window::add_needs_of_lock(life::Condition& needs, int rank) const {
  const std::span<const int> holders = protocol->holders(rank);
  if (holders.empty()) return void(needs.always());
  if (protocol->knows_holders(rank)) {  // and waits for nobody but these
    needs.all();
    for (const int holder : holders) needs.process(process_of(holder));
    return void(needs.end());
  }
  needs.any().process(process_of(rank)).all();
  for (const int holder : holders) needs.process(process_of(holder));
  needs.end().end();
}

void Window::add_needs(life::Condition& needs, int rank) const {
  std::vector<int> ranks;  // who is asked whom its lock waits for may answer at once
  protocol->origin().each_unsettled([&](int each) {
    if (rank == rma::kAll || rank == each) ranks.push_back(each);
  });
  if (ranks.empty()) return void(needs.always());
  needs.all();
  for (const int each : ranks) add_needs_of_lock(needs, each);
  needs.end();
}

void Window::drop_those(int rank) {
  if (rank == rma::kAll) {
    for (int r = 0; r < size(); ++r) drop_those(r);
    return;
  }
  if (!in_use.empty()) {
    InUseAt& there = in_use[static_cast<size_t>(rank)];
    drop_buffers_for_all(&there);
    for (const InUse& use : there.own) {
      if (races) races->origin_over(&use);
      drop_buffers_for_all(&use);
      if (strict) strict->steady().drop(&use);
    }
    for (const std::weak_ptr<InUse>& weak : there.of_requests)
      if (const auto use = weak.lock()) drop_buffers_for_all(use.get());
    there = {};
  }
  // Behind it: who is told gives back what the operations have read.
  if (!watchers.empty()) watchers[static_cast<size_t>(rank)].tell(true);
}

// It is served still if its making has failed.
Window::~Window() {
  watchers.clear();
  drop_in_use(rma::kAll);
  if (!protocol) return;
  const Engine::Guard own(comm->engine());
  protocol.reset();
}

Error bad_size(MPI_Aint size) {
  if (size >= 0) return {};
  return failure(MPI_ERR_SIZE, "{} is no size: it counts bytes, from 0 on (argument size)", size);
}

Error bad_unit(int64_t unit) {
  if (unit > 0) return {};
  return failure(MPI_ERR_DISP,
                 "{} is no unit of displacements: it is a number of bytes, at least 1 (argument "
                 "disp_unit)",
                 unit);
}

namespace {

// What each rank says of a window that is made.
struct Offer {
  uint64_t context;
  Part part;
  bool apart;
  bool same_size, same_unit;  // it promises
};

bool says(const Info* info, const char* key) {
  return info && info->get(key) == "true";
}

// Under --check=strict: what the info object of some rank promises of all.
Error untrue_promise(const std::vector<Offer>& offers) {
  const auto promises = [&](auto promise, const char* key, auto value, const char* what) -> Error {
    const auto who = std::ranges::find_if(offers, promise);
    if (who == offers.end()) return {};
    for (const Offer& offer : offers)
      if (value(offer) != value(*who))
        return failure(MPI_ERR_INFO_VALUE,
                       "rank {} gives the hint {} as true, but its {} is {} and that of rank {} is {} (the standard, "
                       "section 12.2; argument info)",
                       who - offers.begin(), key, what, value(*who), &offer - offers.data(), value(offer));
    return {};
  };
  if (Error e = promises([](const Offer& o) { return o.same_size; }, "same_size",
                         [](const Offer& o) { return o.part.size; }, "size"))
    return e;
  return promises([](const Offer& o) { return o.same_unit; }, "same_disp_unit",
                  [](const Offer& o) { return o.part.unit; }, "disp_unit");
}

}  // namespace

// One exchange on the communicator that it is made of, where a mismatch is found: who is through
// may go on, for what comes early for the window waits (rma::Service).
Result<Ref<Window>> make_window(Comm& comm, Function function, int flavor, const Info* info, Part mine, bool* apart) {
  if (strict) [[unlikely]]
    strict->comes();
  const Offer offer{offer_context(comm, comm.rank() == 0), mine, apart && *apart, says(info, "same_size"),
                    says(info, "same_disp_unit")};
  std::vector<Offer> offers(static_cast<size_t>(comm.size()));
  coll::Call exchange = allgather_bytes(&offer, offers.data(), sizeof offer);
  exchange.signature = contract::word_of(function);
  if (Error e = run(comm, exchange)) {
    comm.contexts().release(offer.context);
    return e;
  }
  if (strict && flavor != MPI_WIN_FLAVOR_DYNAMIC) [[unlikely]]
    if (Error e = strict->found(untrue_promise(offers))) {
      comm.contexts().release(offer.context);
      return e;
    }
  Result<Ref<Comm>> duplicate = duplicate_in(comm, offers.front().context);
  if (!duplicate) return std::move(duplicate).error();
  Comm& own = **duplicate;
  own.set_name("a window");
  own.errhandler = Ref<Errhandler>(&predefined_errhandler(MPI_ERRORS_ARE_FATAL));
  own.is_of_window = true;
  if (own.hidden.ledger) own.hidden.ledger->set_fatal(true);
  auto window = Ref<Window>::adopt(new Window(*std::move(duplicate), flavor));
  window->parts = Parts(comm.size(), [&](int rank) { return offers[static_cast<size_t>(rank)].part; });
  if (apart) *apart = std::ranges::all_of(offers, &Offer::apart);
  take_hints(*window, info);
  window->bytes = mine.size;
  window->unit = static_cast<int>(std::min<int64_t>(mine.unit, std::numeric_limits<int>::max()));
  window->protocol =
      std::make_unique<rma::WindowEnd>(*window->comm->process.one_sided, window->comm->user, kArithmetic);
  return window;
}

// Who fails amid an update in shared memory keeps its lock.
static bool may_go_without_messages(const Comm& comm) {
  return comm.process.windows_direct && !strict && !comm.process.survivor;
}

bool may_go_direct(const Comm& comm) {
  return may_go_without_messages(comm) && comm.process.transport->has_shared_memory();
}

// Communicators of several machines have one context, and may find themselves in one folder of a network: the number of
// whoever makes it is in the name.
std::string name_of_memory(const Window& window) {
  return fmt::format("tutti.{}.win.{:x}.{}", own_job().view().id, window.comm->context(), my_process());
}

void go_direct(Window& window) {
  const NodeMemory& node = *window.node;
  rma::NodeParts parts{.ranks = node.ranks,
                       .me = node.me,
                       .words = node.file->base(),
                       .delays = window.comm->process.stress_mode.kind != StressMode::Kind::off};
  std::vector<int> processes;
  for (size_t member = 0; member < node.ranks.size(); ++member) {
    parts.bases.push_back(node.base(member));
    processes.push_back(window.process_of(node.ranks[member]));
  }
  const Engine::Guard own(window.comm->engine());
  parts.bells = window.comm->process.transport->bells_for(processes);
  window.protocol->target().memory().set_base(node.mine());
  window.protocol->share(std::move(parts));
}

// Memory that this process has for itself, by the kernel: where operations in shared memory are allowed, and not where
// --stress is to see what comes late.
static bool may_be_copied(const Window& window) TUTTI_ENGINE_OWNED {
  return !window.node && window.flavor != MPI_WIN_FLAVOR_DYNAMIC && may_go_without_messages(*window.comm) &&
         window.comm->process.transport->copies().has_any() &&
         window.comm->process.stress_mode.kind == StressMode::Kind::off;
}

MPI_Win open_window(Window& window, void* base) {
  window.base = base;
  {
    const Engine::Guard own(window.comm->engine());
    if (window.flavor == MPI_WIN_FLAVOR_DYNAMIC)
      window.protocol->target().memory().set_dynamic();
    else
      window.protocol->target().memory().set_base(base);
    if (strict) [[unlikely]]
      window.races = std::make_unique<Races>(window);
    open_seen(window);
    if (!window.races && !seen(window)) {
      window.protocol->may_keep();
      if (may_be_copied(window)) window.protocol->copy_by_kernel(window.comm->process.transport->copies(), base);
    }
    window.protocol->open();
  }
  window.retain();  // the handle's
  return inventory::hand_out(window);
}

Error win_create(void* base, MPI_Aint size, int64_t disp_unit, Info* info, Comm& comm, MPI_Win* win) {
  if (Error e = no_window_on(comm)) return e;
  if (Error e = bad_size(size)) return e;
  if (Error e = bad_unit(disp_unit)) return e;
  if (!base && size > 0)
    return failure(MPI_ERR_ARG, "the address is NULL, yet {} bytes lie there (argument base)", size);
  Result<Ref<Window>> made = make_window(comm, Function::Win_create, MPI_WIN_FLAVOR_CREATE, info, {size, disp_unit});
  if (!made) return std::move(made).error();
  *win = open_window(**made, base);
  return {};
}

namespace {

// Memory of the node's for the ranks of each node, if they can have it, and are all of one job. Who asks for an
// alignment that a page does not have gets memory of its own. Exchanged on `comm`, of which the window is made: what is kept
// of these collectives, its next window uses again.
Error share_if_possible(Window& window, Comm& comm, size_t alignment) {
  constexpr size_t kPage = 4096;
  if (comm.size() == 1 || engine::spans_jobs(comm.context())) return {};
  Sharing mine;
  if (may_go_direct(comm) && alignment <= kPage)
    mine = sharing_of(comm);
  else
    mine.machine = sharing_of(comm).machine;
  std::vector<Sharing> sharing(static_cast<size_t>(comm.size()));
  coll::Call exchange = allgather_bytes(&mine, sharing.data(), sizeof mine);
  exchange.signature = contract::word_of(Function::Win_allocate);
  if (Error e = run(comm, exchange)) return e;
  Result<std::unique_ptr<NodeMemory>> node =
      share_in_groups(comm, Function::Win_allocate, window.parts, sharing, name_of_memory(window));
  if (!node) return std::move(node).error();
  window.node = *std::move(node);
  return {};
}

// Collective on `comm`: `missing` is how many bytes this rank did not get, or 0. A window that some rank has no memory
// for is none for the others, who would wait for that rank in its first collective call.
Error all_have_memory(Comm& comm, int64_t missing) {
  std::vector<int64_t> all(static_cast<size_t>(comm.size()));
  coll::Call exchange = allgather_bytes(&missing, all.data(), sizeof missing);
  exchange.signature = contract::word_of(Function::Win_allocate);
  if (Error e = run(comm, exchange)) return e;
  if (missing) return failure(MPI_ERR_NO_MEM, "there is no memory for {} bytes (argument size)", missing);
  const auto who = std::ranges::find_if(all, [](int64_t bytes) { return bytes != 0; });
  if (who == all.end()) return {};
  return failure(MPI_ERR_NO_MEM, "there is no memory for the {} bytes of rank {} (argument size)", *who,
                 who - all.begin());
}

}  // namespace

Error win_allocate(MPI_Aint size, int64_t disp_unit, Info* info, Comm& comm, void* baseptr, MPI_Win* win) {
  if (Error e = no_window_on(comm)) return e;
  if (Error e = bad_size(size)) return e;
  if (Error e = bad_unit(disp_unit)) return e;
  Result<Ref<Window>> made =
      make_window(comm, Function::Win_allocate, MPI_WIN_FLAVOR_ALLOCATE, info, {size, disp_unit});
  if (!made) return std::move(made).error();
  Window& window = **made;
  if (Error e = share_if_possible(window, comm, alignment_of(info))) return e;
  void* memory = window.node ? window.node->mine() : nullptr;
  int64_t missing = 0;
  if (!window.node) {
    const MPI_Aint bytes = std::max<MPI_Aint>(size, 1);
    if (posix_memalign(&memory, alignment_of(info), static_cast<size_t>(bytes)) == 0)
      window.allocated.reset(memory);
    else
      missing = bytes;
  }
  // Where all ranks share memory, all have it.
  if (!window.node || window.node->ranks.size() < static_cast<size_t>(comm.size()))
    if (Error e = all_have_memory(comm, missing)) return e;
  if (window.node) go_direct(window);
  decide_hint(window, "mpi_minimum_memory_alignment", std::to_string(alignment_of(info)));
  *win = open_window(window, memory);
  *static_cast<void**>(baseptr) = memory;
  return {};
}

Error win_create_dynamic(Info* info, Comm& comm, MPI_Win* win) {
  if (Error e = no_window_on(comm)) return e;
  Result<Ref<Window>> made = make_window(comm, Function::Win_create_dynamic, MPI_WIN_FLAVOR_DYNAMIC, info, {0, 1});
  if (!made) return std::move(made).error();
  *win = open_window(**made, MPI_BOTTOM);
  return {};
}

Error win_attach(Window& win, void* base, MPI_Aint size) {
  if (win.flavor != MPI_WIN_FLAVOR_DYNAMIC)
    return failure(MPI_ERR_RMA_FLAVOR, "memory is attached only to windows of MPI_Win_create_dynamic (argument win)");
  if (Error e = bad_size(size)) return e;
  if (!base && size > 0)
    return failure(MPI_ERR_RMA_ATTACH, "the address is NULL, yet {} bytes lie there (argument base)", size);
  const Engine::Guard own(win.comm->engine());
  if (win.protocol->target().memory().attach(base, size)) return {};
  return failure(MPI_ERR_RMA_ATTACH,
                 "the {} bytes at {} overlap what is attached to the window already: detach that "
                 "first (argument base)",
                 size, base);
}

Error win_detach(Window& win, const void* base) {
  if (win.flavor != MPI_WIN_FLAVOR_DYNAMIC)
    return failure(MPI_ERR_RMA_FLAVOR, "memory is detached only from windows of MPI_Win_create_dynamic (argument win)");
  const Engine::Guard own(win.comm->engine());
  if (win.protocol->target().memory().detach(base)) return {};
  return failure(MPI_ERR_RMA_ATTACH,
                 "nothing was attached at {}: detach by the address that was attached (argument base)", base);
}

Error win_free(MPI_Win* win) {
  Window& window = *resolve<Window>(*win);
  {
    const Engine::Guard own(window.comm->engine());
    if (Error e = window.epochs.check_free(); e && !window.comm->hidden.harm) return e;
  }
  if (Error e = window.attributes.delete_all(window.handle)) return e;
  // The others may still be amid operations here, and nobody can tell when they are not any more: it stays, but nothing
  // is done to its memory any more.
  if (window.comm->hidden.harm) [[unlikely]] {
    {
      const Engine::Guard own(window.comm->engine());
      window.protocol->close();
      window.comm->engine().wait_until([&]() TUTTI_ENGINE_OWNED {
        return window.protocol->target().is_idle() && window.protocol->origin().is_locally_complete(rma::kAll);
      });
    }
    window.retain();
    *win = MPI_WIN_NULL;
    window.free_handle();
    return {};
  }
  Engine& engine = window.comm->engine();
  // Nobody's operations are under way behind this, and nobody's memory is gone before it.
  if (Error e = run(*window.comm,
                    coll::Call{.kind = coll::Collective::barrier, .signature = contract::word_of(Function::Win_free)}))
    return e;
  {
    const Engine::Guard own(engine);
    engine.wait_until([&]() TUTTI_ENGINE_OWNED {
      return window.protocol->target().is_idle() && window.protocol->origin().is_locally_complete(rma::kAll);
    });
    window.drop_in_use(rma::kAll);
    close_seen(window);
    window.protocol.reset();
    window.races.reset();
    if (contract::Ledger* ledger = window.comm->hidden.ledger) window.comm->checker()->settle(*ledger);
  }
  window.allocated.reset();
  window.node.reset();
  *win = MPI_WIN_NULL;
  window.free_handle();
  return {};
}

}  // namespace tutti::mpi::one_sided

namespace tutti::mpi {

Window* HandleOf<Window>::predefined(uintptr_t) {
  return nullptr;
}

}  // namespace tutti::mpi
