// SPDX-License-Identifier: BSD-3-Clause
#include "base/flight.hpp"

#include <fmt/core.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/cpu.hpp"
#include "base/flight_files.hpp"
#include "base/flight_moment.hpp"
#include "base/mutex.hpp"
#include "function_names.hpp"
#include "functions.hpp"

namespace tutti::flight {
namespace inside {

constinit Thread unasked{.inside = true}, nobody{.inside = true};
constinit CallRecord nowhere;
constinit thread_local Thread* thread = &unasked;
constinit std::atomic<Record*> record = nullptr;
bool one_at_a_time = false;

}  // namespace inside

namespace {

// Of a Judge; a session may begin while other threads call.
std::atomic<decltype(Judge::newcomer)> judge_newcomer{nullptr};
std::atomic<decltype(Judge::overlap)> judge_overlap{nullptr};
constexpr int32_t kMostRanks = 1 << 24;
constexpr double kLongest = 1e9;  // seconds: some thirty years

Mutex attaching;  // of threads to slots, and their leaving them
std::atomic<bool> off{false};

template <size_t N>
void put(char (&to)[N], std::string_view text) {
  const size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

int64_t nanoseconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string name_of(uint64_t handle, const NamedHandle* begin, const NamedHandle* end, const char* otherwise) {
  const NamedHandle* at = std::find_if(begin, end, [&](const NamedHandle& n) { return n.value == handle; });
  return at == end ? otherwise : at->name;
}

// A thread's slot is given back when it ends.
struct Leaving {
  Thread* slot = nullptr;
  ~Leaving() {
    const Lock lock(attaching);
    if (slot) set(slot->used, false);
    inside::thread = &inside::nobody;
  }
};

}  // namespace

uint64_t clock_now() {
  return cpu::ticks();
}

constinit std::atomic<uint64_t> inside::stamped_to{kAlwaysStamped};
constinit std::atomic<bool> inside::times_calls{false};
namespace {
std::atomic<uint64_t> ticks_in[kWithExtensions];
std::atomic<bool> tool_times{false};  // a tool wants them
std::atomic<decltype(Profile::over)> profile_over{nullptr};
std::atomic<decltype(Profile::waits)> profile_waits{nullptr};
}  // namespace

void inside::timed(const CallRecord& call, uint64_t now) {
  if (tool_times.load(std::memory_order_relaxed) && call.function < kWithExtensions)
    ticks_in[call.function].fetch_add(now - call.stamp, std::memory_order_relaxed);
  if (const auto over = profile_over.load(std::memory_order_relaxed)) over(call, now);
}

static void time_as_wanted() {
  const bool on = tool_times || profile_over.load() != nullptr;
  inside::stamped_to = on ? ~uint64_t{0} : kAlwaysStamped;
  inside::times_calls = on;
}

void time_calls(bool on) {
  tool_times = on;
  time_as_wanted();
}

void set_profile(Profile profile) {
  profile_waits = profile.waits;
  profile_over = profile.over;
  time_as_wanted();
}

int64_t nanoseconds() {
  return nanoseconds_now();
}

Clocks clocks_now() {
  constexpr int kTries = 3;
  Clocks out;
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const uint64_t begun = clock_now();
    const int64_t nanoseconds = nanoseconds_now();
    const uint64_t took = clock_now() - begun;
    if (took < least) least = took, out = {begun + took / 2, nanoseconds};
  }
  return out;
}

double seconds_in(uint16_t function) {
  const Record* const record = mine();
  if (!record || function >= kFunctionCount) return 0;
  // What a tick is, by both clocks since the record was opened.
  const uint64_t passed = clock_now() - record->stamp;
  const auto nanoseconds = static_cast<double>(nanoseconds_now() - record->nanoseconds);
  return passed ? static_cast<double>(ticks_in[function].load(std::memory_order_relaxed)) * nanoseconds /
                      static_cast<double>(passed) / 1e9
                : 0;
}

void switch_off() {
  off = true;
}

void open(std::string_view job, uint64_t job_number, int rank, int size, std::string_view host) {
  if (Record* known = mine()) return known->phase.store(kRuns, std::memory_order_relaxed);
  const int fd = memfd_create(kMemoryName, MFD_CLOEXEC);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, kMemoryBytes) == 0)
    memory = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  // Without it nobody can ask, but the reports of this process still need it.
  if (memory == MAP_FAILED) memory = ::operator new(kMemoryBytes, std::align_val_t(alignof(Record)));
  Record* made = new (memory) Record;
  new (static_cast<std::byte*>(memory) + kFileRecordAt) FileRecord;
  made->bytes = sizeof(Record);
  made->pid = getpid();
  made->rank = rank;
  made->size = size;
  put(made->job, job);
  made->job_number = job_number;
  put(made->host, host);
  put(made->program, program_invocation_short_name);
  const Clocks now = clocks_now();
  made->stamp = now.ticks;
  made->nanoseconds = now.nanoseconds;
  made->phase.store(kRuns, std::memory_order_relaxed);
  std::memcpy(made->magic, kMagic, sizeof kMagic);
  inside::record.store(made, std::memory_order_release);
}

void set_judge(Judge made, bool one_at_a_time) {
  judge_newcomer = made.newcomer;
  judge_overlap = made.overlap;
  if (one_at_a_time) inside::one_at_a_time = true;
}

Thread* inside::attach(uint16_t function, const void* caller) {
  static thread_local Leaving leaving;
  thread = &nobody;  // unless there is something to write to
  if (off.load(std::memory_order_relaxed)) return nullptr;
  Record* const record = mine();
  if (!record) {  // not yet: the next call asks again
    thread = &unasked;
    return nullptr;
  }
  if (const auto judges = judge_newcomer.load(std::memory_order_acquire); caller && judges) judges(function, caller);
  const Lock lock(attaching);
  static bool first TUTTI_GUARDED_BY(attaching) = true;
  if (!std::exchange(first, false)) record->several.store(true, std::memory_order_relaxed);
  for (Thread& slot : record->threads) {
    if (slot.used) continue;
    copy(slot, Thread{.used = true, .id = static_cast<int32_t>(syscall(SYS_gettid))});
    leaving.slot = &slot;
    return thread = &slot;
  }
  return nullptr;  // more threads than there is room for
}

void inside::expect_alone(const Thread& mine, uint16_t function, const void* caller) {
  for (const Thread& other : record.load(std::memory_order_acquire)->threads)
    if (&other != &mine && get(other.used) && get(other.inside))
      if (const CallRecord* const call = get(other.call))
        return judge_overlap.load(std::memory_order_acquire)(function, caller, *call);
}

void waits() {
  Thread* t = thread();
  if (!t || !t->inside) return;
  if (get(t->call->stamp) == 0) set(t->call->stamp, clock_now());
  if (const auto tell = profile_waits.load(std::memory_order_relaxed)) tell(*t->call, -1);
}

void waits_for(const int32_t* processes, int count, const Elsewhere* elsewhere, int others, bool some) {
  Thread* t = thread();
  if (!t) return;
  for (int i = 0; i < std::min(count, kWaitsFor); ++i) set(t->waits_for[i], processes[i]);
  others = std::min(others, kElsewhere);
  for (int i = 0; i < others; ++i) copy(t->elsewhere[i], elsewhere[i]);
  set(t->elsewhere_count, others);
  set(t->waits_for_some, some);
  set(t->waits_for_count, count + others);
  const auto tell = profile_waits.load(std::memory_order_relaxed);
  if (tell && t->inside && count == 1 && others == 0) tell(*t->call, processes[0]);
}

// ---- communicators: the latest kComms

namespace {

CommRecord* place_of(uint64_t context) {
  if (!mine()) return nullptr;
  for (CommRecord& comm : mine()->comm)
    if (get(comm.context) == context) return &comm;
  return nullptr;
}

}  // namespace

void comm_made(const CommRecord& comm) {
  if (!mine()) return;
  // The two that live as long as the process keep the first places.
  const uint64_t n = mine()->comms.fetch_add(1, std::memory_order_relaxed);
  copy(mine()->comm[n < 2 ? n : 2 + (n - 2) % (kComms - 2)], comm);
}

void comm_named(uint64_t context, std::string_view name) {
  CommRecord* const place = place_of(context);
  if (!place) return;
  CommRecord comm = copy_of(*place);
  put(comm.name, name);
  copy(*place, comm);
}

void comm_freed(uint64_t context) {
  if (CommRecord* comm = place_of(context)) set(comm->freed, true);
}

std::string ranks_text(const CommRecord& comm) {
  if (comm.remote_size > 0) return fmt::format("{} and {} ranks", comm.size, comm.remote_size);
  return fmt::format("{} {}", comm.size, comm.size == 1 ? "rank" : "ranks");
}

const char* product_of(uint16_t function) {
  const std::string_view name = name_of_function(function);
  const bool starts_later = name.ends_with("_init") || name.ends_with("_init_c");
  return starts_later ? "a persistent collective" : "a communicator";
}

std::optional<CommRecord> find_comm(const Record& record, uint64_t context) {
  for (const CommRecord& comm : record.comm)
    if (context != 0 && get(comm.context) == context) return copy_of(comm);
  return std::nullopt;
}

// ---- reading

bool make_sound(Record& copy) {
  if (std::memcmp(copy.magic, kMagic, sizeof copy.magic) != 0 || copy.bytes != sizeof(Record) || copy.rank < 0 ||
      copy.rank >= copy.size || copy.size > kMostRanks)
    return false;
  const auto close = [](auto& text) { text[std::size(text) - 1] = 0; };
  close(copy.job), close(copy.host), close(copy.program);
  for (CommRecord& comm : copy.comm) close(comm.name);
  for (Thread& thread : copy.threads) {
    thread.call = nullptr;
    // A bool that is neither 0 nor 1 is none, and a rank of nobody cannot be waited for.
    for (bool* each : {&thread.used, &thread.inside, &thread.waits_for_some}) {
      const uint8_t byte = *reinterpret_cast<const uint8_t*>(each);
      *each = byte != 0;
    }
    thread.waits_for_count = std::clamp(thread.waits_for_count, 0, copy.size + kElsewhere);
    thread.elsewhere_count = std::clamp(thread.elsewhere_count, 0, std::min(thread.waits_for_count, kElsewhere));
    const auto end = thread.waits_for + std::min(thread.waits_for_count - thread.elsewhere_count, kWaitsFor);
    if (std::any_of(thread.waits_for, end, [&](int32_t r) { return r < 0 || r >= copy.size; }))
      thread.waits_for_count = thread.elsewhere_count = 0;
  }
  for (CommRecord& comm : copy.comm) {
    const uint8_t byte = *reinterpret_cast<const uint8_t*>(&comm.freed);
    comm.freed = byte != 0;
  }
  return true;
}

CallRecord read(const CallRecord& place) {
  CallRecord call = copy_of(place);
  const CallRecord none;
  if (call.peer_is() == PeerIs::nothing) call.peer = none.peer, call.tag = none.tag;
  if (!(call.marks & kData)) call.count = none.count, call.type = none.type;
  if (!(call.marks & kOtherData)) call.other_count = none.other_count, call.other_type = none.other_type;
  if (!(call.marks & kOp)) call.op = none.op;
  return call;
}

CallRecord latest_call(const Record& record, const Thread& thread) {
  const uint64_t number = get(thread.number);
  CallRecord call = read(record.ring[number % kCalls]);
  if (call.number != number) call = read(thread.now);
  // Its place in the ring may be another's by now.
  if (call.number != number) call = {.number = number};
  if (number > 0) call.state = get(thread.inside) ? State::inside : State::returned;
  return call;
}
std::string_view name_of_function(uint16_t function) {
  return function < kWithExtensions ? kFunctionNames[function] : "an unknown function";
}
// What a program has made is an object in memory, of which nothing lies at such small addresses.
std::string name_of_datatype(uint64_t handle) {
  constexpr uint64_t kFirstAddress = 0x1000;
  if (handle == reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL)) return "MPI_DATATYPE_NULL";
  return name_of(handle, std::begin(kDatatypeNames), std::end(kDatatypeNames),
                 handle < kFirstAddress ? "no datatype" : "a derived datatype");
}
std::string name_of_op(uint64_t handle) {
  return name_of(handle, std::begin(kOpNames), std::end(kOpNames), "a user's operation");
}

int latest_calls(const Record& record, CallRecord* into, int room) {
  const uint64_t last = record.calls.load(std::memory_order_relaxed);
  const uint64_t wanted = std::min({static_cast<uint64_t>(std::max(room, 0)), uint64_t{kCalls}, last});
  int found = 0;
  for (uint64_t i = 0; i < wanted; ++i) {
    const uint64_t n = last - wanted + 1 + i;
    const CallRecord call = read(record.ring[n % kCalls]);
    if (call.number == n && call.state == State::returned) into[found++] = call;
  }
  return found;
}

// MPI_DATATYPE_NULL stands for a datatype that means nothing on this rank, as the send side of a scatter but at the
// root.
static bool is_named(uint64_t datatype) {
  return datatype != 0 && datatype != reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL);
}

static std::string name_of_rank(int rank) {
  if (rank == MPI_ANY_SOURCE) return "any source";
  if (rank == MPI_ROOT) return "MPI_ROOT";
  return rank == MPI_PROC_NULL ? "MPI_PROC_NULL" : std::to_string(rank);
}

std::string description(const CallRecord& call) {
  std::string arguments;
  const auto add = [&](const std::string& text) { arguments += (arguments.empty() ? "" : ", ") + text; };
  if (call.count >= 0)
    add(fmt::format("{} of {}", call.count, name_of_datatype(call.type)));
  else if (is_named(call.type))
    add(name_of_datatype(call.type));
  if (call.other_count >= 0 && is_named(call.other_type) &&
      (call.other_count != call.count || call.other_type != call.type))
    add(fmt::format("{} {} of {}", call.peer_is() == PeerIs::target ? "at the target" : "receiving", call.other_count,
                    name_of_datatype(call.other_type)));
  if (call.op) add(name_of_op(call.op));
  switch (call.peer_is()) {
    case PeerIs::nothing:
      break;
    case PeerIs::root:
      add(fmt::format("root {}", name_of_rank(call.peer)));
      break;
    case PeerIs::target:
      add(fmt::format("target {}", name_of_rank(call.peer)));
      break;
    case PeerIs::dest:
      add(fmt::format("to {}, tag {}", name_of_rank(call.peer), call.tag));
      break;
    case PeerIs::source:
      add(fmt::format("from {}, {}", name_of_rank(call.peer),
                      call.tag == -2 ? "any tag" : fmt::format("tag {}", call.tag)));
      break;
  }
  return fmt::format("{}({})", name_of_function(call.function), arguments);
}

double seconds_since(const Record& record, uint64_t stamp) {
  if (stamp == 0) return -1;
  const uint64_t now = clock_now();
  if (record.stamp >= now || stamp >= now) return 0;  // the clocks of cores may differ a little
  const double elapsed = static_cast<double>(nanoseconds_now()) - static_cast<double>(record.nanoseconds);
  return std::clamp(static_cast<double>(now - stamp) * elapsed / static_cast<double>(now - record.stamp) / 1e9, 0.0,
                    kLongest);
}

}  // namespace tutti::flight
