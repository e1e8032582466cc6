// SPDX-License-Identifier: BSD-3-Clause
// Events (the standard, section 15.3.8): messages that are matched or come unexpected, and
// collectives that begin and end. The engine is owned when they happen. So a callback must have
// been registered for at least MPI_T_CB_REQUIRE_MPI_RESTRICTED, and where the progress thread meets
// the event for MPI_T_CB_REQUIRE_THREAD_SAFE; events without such a callback are counted and told
// to the dropped handler.
#include "mpi/tool/event.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include "life/sinks.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/tool/api_tool.hpp"
#include "mpi/tool/tool.hpp"

namespace tutti::mpi::tool {
namespace {

using life::Event;

constexpr int kNone = MPI_T_BIND_NO_OBJECT, kComm = MPI_T_BIND_MPI_COMM;
constexpr EventType kEvents[] = {
    // in the order of life::Happening, twice: on all communicators, and on one
    {"messages.matched", "A message on a communicator has met its receive", kNone},
    {"messages.unexpected", "A message on a communicator has come that no receive waits for", kNone},
    {"collectives.begun", "A collective call has begun in this process", kNone},
    {"collectives.ended", "A collective call has ended in this process", kNone},
    {"messages.matched_of_comm", "A message on this communicator has met its receive", kComm},
    {"messages.unexpected_of_comm", "A message on this communicator has come that no receive waits for", kComm},
    {"collectives.begun_of_comm", "A collective call on this communicator has begun in this process", kComm},
    {"collectives.ended_of_comm", "A collective call on this communicator has ended in this process", kComm},
};
constexpr size_t kEventCount = std::size(kEvents), kHappenings = kEventCount / 2;  // which are offered
static_assert(kHappenings <= life::kHappenings);

// What an event tells, as it is copied.
struct Facts {
  int source, tag;
  MPI_Count bytes, context;
};
struct Member {
  size_t at, size;
};
constexpr Member kElements[] = {{offsetof(Facts, source), sizeof(int)},
                                {offsetof(Facts, tag), sizeof(int)},
                                {offsetof(Facts, bytes), sizeof(MPI_Count)},
                                {offsetof(Facts, context), sizeof(MPI_Count)}};
const MPI_Datatype kElementTypes[] = {MPI_INT, MPI_INT, MPI_COUNT, MPI_COUNT};

struct Instance {
  Facts facts;
  MPI_Count time;
};

struct Registration {
  struct Callback {
    MPI_T_event_cb_function* function = nullptr;
    void* user_data = nullptr;
  };
  static constexpr int kLevels = 4;
  size_t event;
  Ref<Comm> comm;                           // of which alone it hears; of an event that is bound
  std::array<Callback, kLevels> callbacks;  // by level of safety
  MPI_T_event_dropped_cb_function* dropped_handler = nullptr;
  bool has_callback() const {
    return std::ranges::any_of(callbacks, [](const Callback& c) { return c.function != nullptr; });
  }
  life::Happening what() const { return static_cast<life::Happening>(event % kHappenings); }
  bool hears(const Event& told) const { return what() == told.what && (!comm || comm->context() == told.context); }
  MPI_Count untold = 0;  // events that were dropped, and of which the handler has not heard
};
constexpr MPI_T_cb_safety kSafety[Registration::kLevels] = {MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                                            MPI_T_CB_REQUIRE_THREAD_SAFE,
                                                            MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

int level_of(MPI_T_cb_safety safety) {
  const auto* const found = std::ranges::find(kSafety, safety);
  return found == std::end(kSafety) ? -1 : static_cast<int>(found - kSafety);
}
Error bad_safety(MPI_T_cb_safety safety) {
  return failure(MPI_T_ERR_INVALID, "{} is no level of safety (argument cb_safety)", static_cast<int>(safety));
}

// How many there were of each.
class Counts final : public life::Sink {
 public:
  uint64_t of(size_t happening) const { return counted_[happening]; }

 private:
  void hears(const Event& event) override TUTTI_ENGINE_OWNED { ++counted_[static_cast<size_t>(event.what)]; }
  std::array<std::atomic<uint64_t>, kHappenings> counted_{};
};

// The tools' callbacks, which hear of events one after the other.
class Audience final : public life::Sink {
 public:
  Handles<Registration> registrations TUTTI_GUARDED_BY(mutex());
  void listen_as_wanted() TUTTI_REQUIRES(mutex()) {
    life::Happenings wanted = 0;
    for (const Registration* r : registrations.all())
      if (r->dropped_handler || r->has_callback()) wanted |= life::bit(r->what());
    listen(wanted);
  }

 private:
  void hears(const Event& event) override TUTTI_ENGINE_OWNED;
  // By event: those that came while another thread was in this interface.
  std::array<std::atomic<MPI_Count>, kHappenings> missed_{};
};

// Both live as long as the process, because this interface may be used before MPI_Init and behind MPI_Finalize.
struct Listeners {
  Audience audience;
  Counts counts;
};
Listeners& listeners() {
  static auto& only = *new Listeners;
  return only;
}
Audience& audience() {
  return listeners().audience;
}

// The one that this thread is telling.
Instance*& telling() {
  static thread_local Instance* now = nullptr;
  return now;
}

MPI_Count now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void tell(Registration& registration, Instance& instance, int needed) {
  for (int level = needed; level < Registration::kLevels; ++level) {
    const Registration::Callback& callback = registration.callbacks[static_cast<size_t>(level)];
    if (!callback.function) continue;
    auto* const handle = reinterpret_cast<MPI_T_event_registration>(&registration);
    if (registration.untold > 0 && registration.dropped_handler)
      registration.dropped_handler(std::exchange(registration.untold, 0), handle, 0, kSafety[needed],
                                   callback.user_data);
    callback.function(reinterpret_cast<MPI_T_event_instance>(&instance), handle, kSafety[needed], callback.user_data);
    return;
  }
  ++registration.untold;
}

void Audience::hears(const Event& event) {
  if (in_event()) return;  // what a callback does itself
  Instance instance{{event.source, event.tag, event.bytes, static_cast<MPI_Count>(event.context)}, now()};
  // A thread that holds the mutex may wait for the engine; whatever else happens is dropped then.
  std::atomic<MPI_Count>& missed_ones = missed_[static_cast<size_t>(event.what)];
  if (!mutex().try_lock()) return void(++missed_ones);
  const Lock lock(mutex(), std::adopt_lock);
  const MPI_Count dropped = missed_ones.exchange(0);
  telling() = &instance;
  const int needed = event.by_helper || current.concurrent_calls ? 2 : 1;
  const std::set<Registration*> all = registrations.all();  // a callback may free its own
  for (Registration* r : all)
    if (registrations.find(r) && r->hears(event)) {
      r->untold += dropped;
      tell(*r, instance, needed);
    }
  telling() = nullptr;
}

Error find(MPI_T_event_instance handle, Instance*& found) {
  found = telling();
  if (found && reinterpret_cast<MPI_T_event_instance>(found) == handle) return {};
  return failure(MPI_T_ERR_INVALID_HANDLE, "an event can be read in the callback that it is given to, and there alone");
}
Error find(MPI_T_event_registration handle, Registration*& found) TUTTI_REQUIRES(mutex()) {
  found = audience().registrations.find(handle);
  return found ? Error() : bad_handle("event registration");
}

}  // namespace

bool in_event() {
  return telling() != nullptr;
}

void count_events(bool on) {
  listeners().counts.listen(on ? (life::Happenings{1} << kHappenings) - 1 : 0);
}
uint64_t events_counted(size_t happening) {
  return listeners().counts.of(happening);
}

std::span<const EventType> event_types() {
  return kEvents;
}

Error t_event_get_num(int* num_events) {
  TUTTI_TOOL_READY;
  if (!num_events) return null_address("num_events");
  *num_events = static_cast<int>(kEventCount);
  return {};
}

Error t_event_get_info(int event_index, char* name, int* name_len, int* verbosity, MPI_Datatype array_of_datatypes[],
                       MPI_Aint array_of_displacements[], int* num_elements, MPI_T_enum* enumtype, MPI_Info* info,
                       char* desc, int* desc_len, int* bind) {
  TUTTI_TOOL_READY;
  if (!within(event_index, kEventCount)) return bad_index(event_index, kEventCount, "event");
  const EventType& event = kEvents[event_index];
  give_text(event.name, name, name_len);
  give(verbosity, int{MPI_T_VERBOSITY_USER_DETAIL});
  if (num_elements) {
    for (size_t i = 0; i < std::min<size_t>(std::size(kElements), static_cast<size_t>(std::max(*num_elements, 0)));
         ++i) {
      if (array_of_datatypes) array_of_datatypes[i] = kElementTypes[i];
      if (array_of_displacements) array_of_displacements[i] = static_cast<MPI_Aint>(kElements[i].at);
    }
    *num_elements = static_cast<int>(std::size(kElements));
  }
  give(enumtype, MPI_T_ENUM_NULL);
  if (info) *info = empty_info();
  give_text(event.doc, desc, desc_len);
  give(bind, int{event.bind});
  return {};
}

Error t_event_get_index(const char* name, int* event_index) {
  TUTTI_TOOL_READY;
  if (!name || !event_index) return null_address(name ? "event_index" : "name");
  for (size_t i = 0; i < kEventCount; ++i)
    if (std::strcmp(kEvents[i].name, name) == 0) {
      *event_index = static_cast<int>(i);
      return {};
    }
  return bad_name(name, "event");
}

Error t_event_handle_alloc(int event_index, void* obj_handle, MPI_Info, MPI_T_event_registration* event_registration) {
  TUTTI_TOOL_READY;
  if (!within(event_index, kEventCount)) return bad_index(event_index, kEventCount, "event");
  if (!event_registration) return null_address("event_registration");
  Ref<Comm> comm;
  if (Error e = resolve_bound(kEvents[event_index].bind, obj_handle, comm)) return e;
  auto* made = audience().registrations.add(
      new Registration{.event = static_cast<size_t>(event_index), .comm = std::move(comm), .callbacks = {}});
  *event_registration = reinterpret_cast<MPI_T_event_registration>(made);
  return {};
}

Error t_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info) {
  TUTTI_TOOL_READY;
  Registration* found = nullptr;
  return find(event_registration, found);  // no key means anything
}

Error t_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) {
  TUTTI_TOOL_READY;
  Registration* found = nullptr;
  if (Error e = find(event_registration, found)) return e;
  if (!info_used) return null_address("info_used");
  *info_used = empty_info();
  return {};
}

Error t_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info,
                                void* user_data, MPI_T_event_cb_function event_cb_function) {
  TUTTI_TOOL_READY;
  Registration* found = nullptr;
  if (Error e = find(event_registration, found)) return e;
  const int level = level_of(cb_safety);
  if (level < 0) return bad_safety(cb_safety);
  found->callbacks[static_cast<size_t>(level)] = {event_cb_function, user_data};  // NULL takes it away
  audience().listen_as_wanted();
  return {};
}

Error t_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info) {
  TUTTI_TOOL_READY;
  Registration* found = nullptr;
  if (Error e = find(event_registration, found)) return e;
  return level_of(cb_safety) < 0 ? bad_safety(cb_safety) : Error();
}

Error t_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                MPI_Info* info_used) {
  TUTTI_TOOL_READY;
  Registration* found = nullptr;
  if (Error e = find(event_registration, found)) return e;
  if (level_of(cb_safety) < 0) return bad_safety(cb_safety);
  if (!info_used) return null_address("info_used");
  *info_used = empty_info();
  return {};
}

Error t_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                          MPI_T_event_free_cb_function free_cb_function) {
  {
    TUTTI_TOOL_READY;
    Registration* found = nullptr;
    if (Error e = find(event_registration, found)) return e;
    if (!in_event()) {
      audience().registrations.remove(found);
      audience().listen_as_wanted();
    } else {
      return failure(MPI_T_ERR_NOT_SUPPORTED, "a registration is not freed in a callback of an event");
    }
  }
  if (free_cb_function) free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
  return {};
}

Error t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                  MPI_T_event_dropped_cb_function dropped_cb_function) {
  TUTTI_TOOL_READY;
  Registration* found = nullptr;
  if (Error e = find(event_registration, found)) return e;
  found->dropped_handler = dropped_cb_function;
  audience().listen_as_wanted();
  return {};
}

// ---- in callbacks

Error t_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) {
  TUTTI_TOOL_READY;
  Instance* found = nullptr;
  if (Error e = find(event_instance, found)) return e;
  if (!within(element_index, std::size(kElements)))
    return bad_index(element_index, std::size(kElements), "element of this event");
  if (!buffer) return null_address("buffer");
  const Member& element = kElements[element_index];
  std::memcpy(buffer, reinterpret_cast<const std::byte*>(&found->facts) + element.at, element.size);
  return {};
}

Error t_event_copy(MPI_T_event_instance event_instance, void* buffer) {
  TUTTI_TOOL_READY;
  Instance* found = nullptr;
  if (Error e = find(event_instance, found)) return e;
  if (!buffer) return null_address("buffer");
  std::memcpy(buffer, &found->facts, sizeof(Facts));
  return {};
}

Error t_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) {
  TUTTI_TOOL_READY;
  Instance* found = nullptr;
  if (Error e = find(event_instance, found)) return e;
  if (!event_timestamp) return null_address("event_timestamp");
  *event_timestamp = found->time;
  return {};
}

Error t_event_get_source(MPI_T_event_instance event_instance, int* source_index) {
  TUTTI_TOOL_READY;
  Instance* found = nullptr;
  if (Error e = find(event_instance, found)) return e;
  if (!source_index) return null_address("source_index");
  *source_index = 0;
  return {};
}

// ---- sources: there is one, the engine, whose owner meets one event after the other

Error t_source_get_num(int* num_sources) {
  TUTTI_TOOL_READY;
  if (!num_sources) return null_address("num_sources");
  *num_sources = 1;
  return {};
}

Error t_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                        MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                        MPI_Info* info) {
  TUTTI_TOOL_READY;
  if (!within(source_index, 1)) return bad_index(source_index, 1, "source");
  give_text("engine", name, name_len);
  give_text("The engine of this process, by the system's monotonic clock", desc, desc_len);
  give(ordering, MPI_T_SOURCE_ORDERED);
  give(ticks_per_second, MPI_Count{1'000'000'000});
  give(max_ticks, std::numeric_limits<MPI_Count>::max());
  if (info) *info = empty_info();
  return {};
}

Error t_source_get_timestamp(int source_index, MPI_Count* timestamp) {
  TUTTI_TOOL_READY;
  if (!within(source_index, 1)) return bad_index(source_index, 1, "source");
  if (!timestamp) return null_address("timestamp");
  *timestamp = now();
  return {};
}

}  // namespace tutti::mpi::tool
