// SPDX-License-Identifier: BSD-3-Clause
// Communication calls of windows (the standard, section 12.3): checks what can be known here, and
// hands on to rma/.
#include <array>
#include <span>
#include <utility>

#include "engine/engine.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/tolerated.hpp"
#include "mpi/request/request.hpp"
#include "mpi/rma/api_window.hpp"
#include "mpi/rma/races.hpp"
#include "mpi/rma/seen_window.hpp"
#include "mpi/type/defined_ops.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {
namespace {

using engine::Engine;

// One call's arguments at the target.
struct There {
  int rank;
  MPI_Aint displacement;
  int64_t count;
  const Datatype& type;

  int64_t bytes() const { return count * type.layout->size(); }
};

const char* plural(int64_t count) {
  return count == 1 ? "" : "s";
}

// ---- checks. The engine is owned.

// Whether elements in one run, as most are, lie within the part of their rank. False: not, or it is not so plain.
bool are_inside(const Window& win, const There& there) {
  const Layout& layout = *there.type.layout;
  const Part& part = win.parts[there.rank];
  int64_t start, length;
  return layout.is_dense() && layout.true_lower_bound() == 0 && there.displacement >= 0 &&
         !__builtin_mul_overflow(there.displacement, part.unit, &start) &&
         !__builtin_mul_overflow(there.count, layout.size(), &length) && length <= part.size &&
         start <= part.size - length;
}

[[gnu::noinline]] Error check_range(const Window& win, const There& there) {
  const bool dynamic = win.flavor == MPI_WIN_FLAVOR_DYNAMIC;  // the target knows what is attached
  if (there.displacement < 0 && !dynamic)
    return failure(MPI_ERR_DISP, "displacement {} is negative (argument target_disp)", there.displacement);
  if (dynamic) return {};
  const rma::Reach reach = rma::reach_of(there.count, *there.type.layout);
  const Part& part = win.parts[there.rank];
  const __int128 start = static_cast<__int128>(there.displacement) * part.unit;
  if (reach.low >= reach.high || (start + reach.low >= 0 && start + reach.high <= part.size)) return {};
  return failure(MPI_ERR_RMA_RANGE,
                 "bytes {} to {} are not in the memory of rank {}, whose size is {} byte{}: "
                 "displacement {} in units of {} byte{}, {} element{} of {} (argument target_disp)",
                 static_cast<int64_t>(start + reach.low), static_cast<int64_t>(start + reach.high - 1), there.rank,
                 part.size, plural(part.size), there.displacement, part.unit, plural(part.unit), there.count,
                 plural(there.count), description(there.type));
}

// Both sides of one call are known here, so nobody else need be asked whether they fit together.
[[gnu::noinline]] Error compare_sides(const char* side, int64_t count, const Datatype& type,
                                      const There& there) TUTTI_ENGINE_OWNED {
  const int64_t bytes = count * type.layout->size();
  if (bytes == there.bytes()) {
    if (bytes == 0 || !differ_in_types(type, there.type)) [[likely]]
      return {};
    const bool lenient = !strict && (is_one_byte(type.pattern) || is_one_byte(there.type.pattern));
    if (lenient && is_told(Tolerated::one_byte_types)) return {};
    Error error = failure(MPI_ERR_TYPE,
                          "the {} is {}, but target_count and target_datatype name {} at rank {}: the type signatures "
                          "(counts times basic types) must agree",
                          side, amount_text(count, type), amount_text(there.count, there.type), there.rank);
    if (lenient) return tolerated(Tolerated::one_byte_types, std::move(error));
    return checking.report_only ? report_alone(std::move(error), nullptr) : std::move(error);
  }
  if (bytes > there.bytes())
    return failure(MPI_ERR_TRUNCATE,
                   "the {} has {} byte{}, more than the {} that target_count and target_datatype name: "
                   "they must fit together",
                   side, bytes, plural(bytes), there.bytes());
  return failure(MPI_ERR_TYPE,
                 "the {} has {} byte{}, less than the {} that target_count and target_datatype name: "
                 "they must fit together",
                 side, bytes, plural(bytes), there.bytes());
}

inline Error check_sides(const char* side, int64_t count, const Datatype& type, const There& there) TUTTI_ENGINE_OWNED {
  if (&type == &there.type && count == there.count) [[likely]]
    return {};
  return compare_sides(side, count, type, there);
}

// What all elements of a type are; nullptr: nothing, or different things.
const Datatype* only_element(const Datatype& type, bool& mixed) {
  if (type.element != Element::none) return &type;
  const Datatype* only = nullptr;
  for (const TypeRun& run : type.runs) {
    if (run.count == 0) continue;
    const Datatype* part = only_element(*run.type, mixed);
    if (!part) continue;
    if (only && only->element != part->element) mixed = true;
    only = part;
  }
  return only;
}

// The operation on the elements of `count` times `type`, into `update`.
Error bind_update(const Op& op, int64_t count, const Datatype& type, rma::Update& update) {
  if (!op.predefined) [[unlikely]]
    return failure(MPI_ERR_OP,
                   "an operation of MPI_Op_create cannot be used on windows, only predefined ones "
                   "(argument op)");
  bool mixed = false;
  const Datatype* element = only_element(type, mixed);
  if (mixed)
    return failure(MPI_ERR_TYPE,
                   "{} is made of different predefined datatypes: accumulating wants one alone "
                   "(argument target_datatype)",
                   description(type));
  update.operation =
      static_cast<uint8_t>(reinterpret_cast<uintptr_t>(op.handle) - reinterpret_cast<uintptr_t>(MPI_OP_NULL));
  if (!element) return {};  // there is nothing to do it to
  update.element = static_cast<uint8_t>(element->element);
  if (update.operation == rma::kReplace || update.operation == rma::kNoOp || is_defined_on(op, *element)) [[likely]]
    return {};
  auto bound = bind(op, count, *element);
  if (!bound) return std::move(bound).error();
  return {};
}

Error check_same_elements(const Datatype& origin, const Datatype& target) {
  if (&origin == &target) [[likely]]
    return {};
  bool mixed = false;
  const Datatype* a = only_element(origin, mixed);
  const Datatype* b = only_element(target, mixed);
  if (!mixed && (!a || !b || a->layout->size() == b->layout->size())) return {};
  return failure(MPI_ERR_TYPE,
                 "the elements at the origin are {} and at the target {}: accumulating wants one "
                 "predefined datatype on both sides (argument origin_datatype)",
                 a ? description(*a) : "nothing", b ? description(*b) : "nothing");
}

// ---- the operations, with a request or without

rma::Local local(const void* base, int64_t count, const Datatype& type) {
  return {const_cast<void*>(base), count, type.layout};
}
rma::Target target(const Window& win, const There& there) {
  return {there.rank, there.displacement * win.parts[there.rank].unit, there.count, there.type.layout};
}

class AccessRequest final : public Request, public Pooled<AccessRequest> {
 public:
  AccessRequest(Window& window, int rank) : Request(Kind::one_sided, *window.comm), window_(&window), rank_(rank) {}
  ~AccessRequest() override {
    if (in_use_) [[unlikely]] {
      drop_buffers(in_use_.get());
      if (strict) strict->steady().drop(in_use_.get());
    }
    if (window_->races) [[unlikely]]
      window_->races->request_gone(this);
  }

  rma::Done done() {
    return {[](void* owner, Error error) TUTTI_ENGINE_OWNED {
              auto& request = *static_cast<AccessRequest*>(owner);
              request.error_ = std::move(error);
              request.finish();
            },
            this};
  }
  // Where buffers are watched: until it is gone, or a call on the window says that the operation is complete.
  void uses(std::shared_ptr<Window::InUse> in_use) { in_use_ = std::move(in_use); }
  // The program hears of the end, perhaps before it gives up the request.
  void fill(MPI_Status& status) const override {
    fill_empty(status);
    if (in_use_) [[unlikely]]
      drop_buffers(in_use_.get());
  }
  Error error() const override {
    if (error_) return Error(error_.mpi_class(), error_.message());
    return in_use_ && strict ? strict->judges(in_use_.get()) : Error();
  }
  Error cancel() override TUTTI_ENGINE_OWNED {
    return failure(MPI_ERR_REQUEST,
                   "the request belongs to an operation on a window, which cannot be cancelled (the "
                   "standard, section 12.3.5)");
  }
  HasErrhandler& raises_on() const override { return *window_; }
  const Window* window() const { return window_.get(); }
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED { window_->add_needs(needs, rank_); }

 private:
  const Ref<Window> window_;
  const int rank_;  // its target
  std::shared_ptr<Window::InUse> in_use_;
  Error error_;
};

// The memory here that a call reads or writes.
struct Here {
  rma::Local local;
  bool writes;
};

// What the operation reads here stays as it is until it is complete. A request's own call is told with the request.
void keep(const Window::InUse& in_use, std::span<const BufferUse> uses, CallSite started) {
  for (const BufferUse& use : uses)
    if (!use.writes)
      strict->steady().keep(&in_use,
                            SentCopy::of(use.payload, strict->bytes_copied, {"the origin buffer", "operation", "12.3"}),
                            started);
}

Error take_for(AccessRequest& request, Window::InUseAt& there, Window::InUse in_use,
               std::span<const BufferUse> uses) TUTTI_ENGINE_OWNED {
  auto shared = std::make_shared<Window::InUse>(std::move(in_use));
  if (Error e = take_buffers(shared.get(), uses)) return e;
  if (strict) keep(*shared, uses, {});
  if (seen(*request.window())) request.set_watched();  // of what it has brought one learns
  std::deque<std::weak_ptr<Window::InUse>>& others = there.of_requests;
  while (!others.empty() && others.front().expired()) others.pop_front();  // those that are gone
  others.push_back(shared);
  request.uses(std::move(shared));
  return {};
}

// Where buffers are watched, until the operations at `rank` are known to be complete.
Error take(Window& win, int rank, AccessRequest* request, std::span<const Here> uses) TUTTI_ENGINE_OWNED {
  std::vector<BufferUse> buffers;
  Window::InUse in_use;
  const bool fenced = !request && !win.epochs.is_started() && !win.epochs.is_locked(rank);
  const Window* const fence = fenced ? &win : nullptr;
  for (const Here& use : uses)
    if (use.local.count > 0) {
      buffers.push_back({use.local.payload(), use.writes, fence});
      in_use.layouts.push_back(use.local.layout);
    }
  if (win.in_use.empty()) win.in_use.resize(static_cast<size_t>(win.size()));
  Window::InUseAt& there = win.in_use[static_cast<size_t>(rank)];
  if (request) return take_for(*request, there, std::move(in_use), buffers);
  if (!strict) return take_buffers(&there, buffers);
  there.own.push_back(std::move(in_use));
  Error error = take_buffers(&there.own.back(), buffers);
  if (error)
    there.own.pop_back();
  else
    keep(there.own.back(), buffers, here());
  return error;
}

// What is to be known of an operation where buffers are watched.
struct Seen {
  rma::Act act;
  std::array<Here, 2> uses = {};  // memory here; nothing where there are no elements
};

// Where buffers are watched: that nothing else is at what it uses here and there. It starts next.
[[gnu::cold]] Error take_all(Window& win, const There& there, AccessRequest* request,
                             const Seen& what) TUTTI_ENGINE_OWNED {
  if (!win.races) {  // it is a file's own, or --check is not strict
    if (Error e = take(win, there.rank, request, what.uses)) return e;
    if (SeenWindow* const looks_on = seen(win)) looks_on->about_to(there.rank, what.act);
    return {};
  }
  const Races::Started started = win.races->about_to(what.act, target(win, there), request);
  if (Error e = win.races->check(started)) return e;
  if (Error e = take(win, there.rank, request, what.uses)) return e;
  win.races->record(started);
  return {};
}

// The second half of access(), with a request.
template <class Start>
[[gnu::noinline]] Error start_with_request(Window& win, const There& there, MPI_Request* request, const Seen& what,
                                           Start&& start) TUTTI_ENGINE_OWNED {
  const bool nothing = there.rank == MPI_PROC_NULL || there.bytes() == 0;
  auto* made = new AccessRequest(win, there.rank);
  if (watches_buffers && !nothing) [[unlikely]]
    if (Error e = take_all(win, there, made, what)) {
      made->release();
      return e;
    }
  *request = inventory::hand_out<Request>(*made);
  made->begin();
  nothing ? made->finish() : start(made->done());
  return {};
}

// Checks the call where `check` says what is its own; then `start(done)` starts it, unless the target is MPI_PROC_NULL
// or there is nothing to do. `looks`: it brings something from the target. `see()`: what is to be known of it where buffers are
// watched, once it is checked.
template <class Check, class See, class Start>
[[gnu::always_inline]] inline Error access(Window& win, const There& there, MPI_Request* request, bool looks,
                                           Check&& check, See&& see, Start&& start) {
  const Engine::Guard own(win.comm->engine());
  if (strict) [[unlikely]]
    strict->acts();
  const bool nowhere = there.rank == MPI_PROC_NULL;
  if (!nowhere) {
    if (Error e = request ? win.epochs.check_request(there.rank) : win.epochs.check_operation(there.rank)) return e;
    if (!are_inside(win, there)) [[unlikely]]
      if (Error e = check_range(win, there)) return e;
    if (Error e = check()) return e;
  }
  if (!looks) win.has_written = true;
  if (win.locks_when_used) [[unlikely]]
    ask_for_lock(win, there.rank);
  if (request) return start_with_request(win, there, request, see(), start);
  if (nowhere || there.bytes() == 0) return {};
  if (watches_buffers) [[unlikely]]
    if (Error e = take_all(win, there, nullptr, see())) return e;
  win.epochs.note_operation();
  start(rma::Done{});
  return {};
}

Error put(const rma::Local& origin, const Datatype& type, const There& there, Window& win, MPI_Request* request) {
  return access(
      win, there, request, false, [&]() TUTTI_ENGINE_OWNED { return check_sides("origin", origin.count, type, there); },
      [&] { return Seen{{.kind = rma::AccessKind::put}, {{{origin, false}}}}; },
      [&](rma::Done done) TUTTI_ENGINE_OWNED { win.protocol->put(origin, target(win, there), done); });
}

Error get(const rma::Local& origin, const Datatype& type, const There& there, Window& win, MPI_Request* request) {
  return access(
      win, there, request, true, [&]() TUTTI_ENGINE_OWNED { return check_sides("origin", origin.count, type, there); },
      [&] { return Seen{{.kind = rma::AccessKind::get}, {{{origin, true}}}}; },
      [&](rma::Done done) TUTTI_ENGINE_OWNED { win.protocol->get(origin, target(win, there), done); });
}

// Where an operation puts what was there.
struct Fetched {
  rma::Local local;
  const Datatype& type;
};

// `origin_type`: nullptr where it means nothing. `result`: nullptr where nothing is fetched.
Error update(const void* origin_addr, int64_t origin_count, const Datatype* origin_type, const Fetched* result,
             const There& there, const Op& op, Window& win, MPI_Request* request) {
  rma::Local origin;
  if (origin_type) origin = local(origin_addr, origin_count, *origin_type);
  rma::Update update;
  const auto check = [&]() TUTTI_ENGINE_OWNED -> Error {
    if (!result && op.handle == MPI_NO_OP)
      return failure(MPI_ERR_OP,
                     "MPI_NO_OP is for calls that fetch what is there, such as MPI_Get_accumulate (the "
                     "standard, 12.3.4; argument op)");
    if (Error e = bind_update(op, there.count, there.type, update)) return e;
    if (result)
      if (Error e = check_sides("result", result->local.count, result->type, there)) return e;
    if (update.operation == rma::kNoOp || !origin_type) return {};
    if (Error e = check_sides("origin", origin_count, *origin_type, there)) return e;
    return check_same_elements(*origin_type, there.type);
  };
  const auto see = [&] {
    const bool reads = origin_type && op.handle != MPI_NO_OP;
    return Seen{{.kind = rma::AccessKind::update, .fetches = result != nullptr, .update = update},
                {{{reads ? origin : rma::Local(), false}, {result ? result->local : rma::Local(), true}}}};
  };
  return access(win, there, request, result != nullptr, check, see, [&](rma::Done done) TUTTI_ENGINE_OWNED {
    win.protocol->update(update, origin, result ? &result->local : nullptr, target(win, there), done);
  });
}

}  // namespace

Error put(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
          MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win) {
  return put(local(origin_addr, origin_count, origin_datatype), origin_datatype,
             {target_rank, target_disp, target_count, target_datatype}, win, nullptr);
}

Error rput(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
           MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win,
           MPI_Request* request) {
  return put(local(origin_addr, origin_count, origin_datatype), origin_datatype,
             {target_rank, target_disp, target_count, target_datatype}, win, request);
}

Error get(void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
          MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win) {
  return get(local(origin_addr, origin_count, origin_datatype), origin_datatype,
             {target_rank, target_disp, target_count, target_datatype}, win, nullptr);
}

Error rget(void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
           MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win,
           MPI_Request* request) {
  return get(local(origin_addr, origin_count, origin_datatype), origin_datatype,
             {target_rank, target_disp, target_count, target_datatype}, win, request);
}

Error accumulate(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
                 MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, const Op& op,
                 Window& win) {
  return update(origin_addr, origin_count, &origin_datatype, nullptr,
                {target_rank, target_disp, target_count, target_datatype}, op, win, nullptr);
}

Error raccumulate(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
                  MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, const Op& op,
                  Window& win, MPI_Request* request) {
  return update(origin_addr, origin_count, &origin_datatype, nullptr,
                {target_rank, target_disp, target_count, target_datatype}, op, win, request);
}

Error get_accumulate(const void* origin_addr, int64_t origin_count, const Datatype* origin_datatype, void* result_addr,
                     int64_t result_count, const Datatype& result_datatype, int target_rank, MPI_Aint target_disp,
                     int64_t target_count, const Datatype& target_datatype, const Op& op, Window& win) {
  const Fetched result{local(result_addr, result_count, result_datatype), result_datatype};
  return update(origin_addr, origin_count, origin_datatype, &result,
                {target_rank, target_disp, target_count, target_datatype}, op, win, nullptr);
}

Error rget_accumulate(const void* origin_addr, int64_t origin_count, const Datatype* origin_datatype, void* result_addr,
                      int64_t result_count, const Datatype& result_datatype, int target_rank, MPI_Aint target_disp,
                      int64_t target_count, const Datatype& target_datatype, const Op& op, Window& win,
                      MPI_Request* request) {
  const Fetched result{local(result_addr, result_count, result_datatype), result_datatype};
  return update(origin_addr, origin_count, origin_datatype, &result,
                {target_rank, target_disp, target_count, target_datatype}, op, win, request);
}

namespace {

Error check_predefined(const Datatype& type) {
  if (type.element != Element::none) return {};
  return failure(MPI_ERR_TYPE, "{} is no predefined datatype, as this call wants (argument datatype)",
                 description(type));
}

Error check_address(const void* address, const char* argument) {
  if (address) [[likely]]
    return {};
  return failure(MPI_ERR_BUFFER, "the address is NULL, yet an element lies there (argument {})", argument);
}

}  // namespace

Error fetch_and_op(const void* origin_addr, void* result_addr, const Datatype& datatype, int target_rank,
                   MPI_Aint target_disp, const Op& op, Window& win) {
  if (Error e = check_predefined(datatype)) return e;
  if (target_rank != MPI_PROC_NULL) {
    if (Error e = check_address(result_addr, "result_addr")) return e;
    if (op.handle != MPI_NO_OP)
      if (Error e = check_address(origin_addr, "origin_addr")) return e;
  }
  const Fetched result{local(result_addr, 1, datatype), datatype};
  return update(origin_addr, 1, &datatype, &result, {target_rank, target_disp, 1, datatype}, op, win, nullptr);
}

Error compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr, const Datatype& datatype,
                       int target_rank, MPI_Aint target_disp, Window& win) {
  if (Error e = check_predefined(datatype)) return e;
  const TypeClass kind = datatype.type_class;
  if (kind != TypeClass::c_integer && kind != TypeClass::fortran_integer && kind != TypeClass::logical &&
      kind != TypeClass::multi_language && kind != TypeClass::byte) {
    Error error = failure(MPI_ERR_TYPE,
                          "{} cannot be compared and swapped, only integers, logicals and bytes (the standard, "
                          "12.3.4; argument datatype)",
                          description(datatype));
    // Its one byte is compared as that of MPI_SIGNED_CHAR is.
    if (kind != TypeClass::character) return error;
    if (Error e = tolerated(Tolerated::swapped_characters, std::move(error), &win)) return e;
  }
  if (target_rank != MPI_PROC_NULL) {
    if (Error e = check_address(origin_addr, "origin_addr")) return e;
    if (Error e = check_address(compare_addr, "compare_addr")) return e;
    if (Error e = check_address(result_addr, "result_addr")) return e;
  }
  const There there{target_rank, target_disp, 1, datatype};
  const rma::Update swap{rma::kCompareAndSwap, static_cast<uint8_t>(datatype.element)};
  return access(
      win, there, nullptr, true, [] { return Error(); },
      [&] {
        return Seen{{.kind = rma::AccessKind::update, .fetches = true, .update = swap},
                    {{{local(origin_addr, 1, datatype), false}, {local(result_addr, 1, datatype), true}}}};
      },
      [&](rma::Done) TUTTI_ENGINE_OWNED {
        win.protocol->compare_and_swap({.element = swap.element}, origin_addr, compare_addr, result_addr,
                                       target(win, there));
      });
}

}  // namespace tutti::mpi::one_sided
