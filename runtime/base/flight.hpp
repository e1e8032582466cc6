// SPDX-License-Identifier: BSD-3-Clause
// The flight record: what a rank is doing now and what it did last, in memory that others of the
// same user can read at any time (`tutti why`), also while the rank is stopped or wedged. A memfd:
// it is found through /proc/PID/fd and gone with its process, however that ends.
//
// Each field is written whole, by an ordinary store, and never read by the rank itself but for a
// report, which another of its threads may write. Readers may see a call half written; they judge
// nothing, they show. The clock is read only where a call waits anyway, at the first calls and at
// every 64th: reading it costs more than all the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace tutti::flight {

enum class State : uint8_t { none, inside, returned };

// What CallRecord::peer is.
enum class PeerIs : uint8_t { nothing, root, dest, source, target };

inline constexpr int kNoPeer = INT32_MIN;

// In CallRecord::marks, above the PeerIs: what the call has told of its arguments.
inline constexpr uint8_t kPeerMask = 7, kData = 8, kOtherData = 16, kOp = 32;

// One call of a function of MPI, with those of its arguments that it has. In the record the fields
// of arguments without a mark hold what an earlier call has left there: see read().
struct CallRecord {
  uint64_t number = 0;       // counts this process's calls; 0: no call
  uint64_t caller = 0;       // where it returns to
  uint64_t context = 0;      // of the communicator
  int64_t count = -1;        // -1: none, or an array
  int64_t other_count = -1;  // recvcount where there is a sendcount
  uint64_t type = 0;         // handles
  uint64_t other_type = 0;
  uint64_t op = 0;
  uint64_t stamp = 0;   // the clock when it was seen to wait, or at its start; 0: not read
  uint32_t serial = 0;  // of a collective call on its communicator, counted from 1; 0: none
  int32_t peer = kNoPeer;
  int32_t tag = 0;
  uint16_t function = 0;
  State state = State::none;
  uint8_t marks = 0;

  PeerIs peer_is() const { return static_cast<PeerIs>(marks & kPeerMask); }
};
static_assert(sizeof(CallRecord) == 88);

inline constexpr uint64_t kAlwaysStamped = 1024;  // the first calls, which are many programs' only ones
inline constexpr int kThreads = 12, kComms = 96, kCalls = 256, kWaitsFor = 12, kElsewhere = 4;

// A process of another job, as every process understands it (members/processes.hpp).
struct Elsewhere {
  uint64_t job = 0;
  int32_t rank = 0;
  int32_t unused = 0;
  friend bool operator==(const Elsewhere&, const Elsewhere&) = default;
};

// One thread that calls MPI. Where it is the only one, it writes its calls at their places in the
// ring; where there are several, each writes its own `now`, which goes there when the call returns:
// others may go once around the ring meanwhile.
struct alignas(64) Thread {
  CallRecord now;
  CallRecord* call = nullptr;  // the latest: `now`, or in the ring; the process' own
  uint64_t number = 0;         // of it
  bool inside = false;         // of it
  // The latest function that only looks (MPI_Test and its kin), how often in a row, and from where.
  uint64_t looks = 0;
  uint64_t looks_caller = 0;
  uint16_t looks_function = 0;
  bool used = false;
  bool waits_for_some = false;  // of those below: the action of some of them may do
  int32_t id = 0;               // of the kernel
  uint64_t returned = 0;        // the clock when the latest stamped call returned
  // What the call waits for, once it has waited long: process ids.
  int32_t waits_for_count = 0;  // may exceed what is listed
  int32_t waits_for[kWaitsFor] = {};
  int32_t elsewhere_count = 0;  // of these, the ones of other jobs, as far as they are listed
  Elsewhere elsewhere[kElsewhere];
};

struct CommRecord {
  uint64_t context = 0;  // 0: unused
  uint64_t parent = 0;   // context of the communicator that it was made from
  uint64_t caller = 0;   // where it was made
  int32_t size = 0;
  int32_t rank = 0;
  int32_t remote_size = 0;  // of an intercommunicator's other group; 0: there is none
  uint16_t function = 0;    // that made it
  bool freed = false;
  char name[53] = {};  // may be cut
};

struct Record {
  char magic[8] = {};
  uint32_t bytes = 0;  // of this struct, which changes with its version
  int32_t pid = 0;
  int32_t rank = -1;
  int32_t size = 0;
  char job[64] = {};
  uint64_t job_number = 0;  // Elsewhere::job of its ranks
  char host[64] = {};
  char program[128] = {};
  uint64_t stamp = 0;  // both clocks at one moment: how to read stamps
  int64_t nanoseconds = 0;
  std::atomic<uint64_t> calls{0};    // so far, of all threads
  std::atomic<int32_t> phase{0};     // below
  std::atomic<uint64_t> comms{0};    // made so far
  std::atomic<bool> several{false};  // threads have called
  Thread threads[kThreads];
  CommRecord comm[kComms];
  CallRecord ring[kCalls];  // returned calls, by number modulo kCalls
};
static_assert(sizeof(Record) < 64 << 10);
// Record::phase. Between MPI_Init and MPI_Finalize, behind it, and at the end of MPI_Init for a debugger.
inline constexpr int32_t kRuns = 1, kFinalized = 2, kAwaitsDebugger = 3;
inline constexpr char kMagic[8] = {'t', 'u', 't', 't', 'i', 'f', 'r', '4'};
inline constexpr const char* kMemoryName = "tutti-flight-record";

// A field that others may read, or write, at any time.
template <class T>
inline void set(T& field, std::type_identity_t<T> value) {
  __atomic_store(&field, &value, __ATOMIC_RELAXED);
}
template <class T>
inline T get(const T& field) {
  T value;
  __atomic_load(&field, &value, __ATOMIC_RELAXED);
  return value;
}
// A whole struct, word by word: of one that somebody writes, its words may be of different moments.
template <class T>
inline void copy(T& into, const T& from) {
  using Word [[gnu::may_alias]] = uint64_t;
  static_assert(sizeof(T) % sizeof(Word) == 0 && std::is_trivially_copyable_v<T>);
  const auto* const source = reinterpret_cast<const Word*>(&from);
  auto* const target = reinterpret_cast<Word*>(&into);
#pragma GCC unroll 16
  for (size_t i = 0; i < sizeof(T) / sizeof(Word); ++i) set(target[i], get(source[i]));
}
template <class T>
inline T copy_of(const T& from) {
  T into;
  copy(into, from);
  return into;
}

// ---- writing, by the library

// Starts the record of this process; until then, and when it is switched off, everything below does
// nothing.
void switch_off();
void open(std::string_view job, uint64_t job_number, int rank, int size, std::string_view host);

uint64_t clock_now();

namespace inside {
// Of a thread that has not been asked yet whether it writes, and of one that does not. Both are
// inside of a call for ever, so that whoever begins one asks a single question.
extern Thread unasked, nobody;
extern CallRecord nowhere;  // what is noted of calls that are not recorded: never read
// Initial-exec: the call that finds a library's other thread-locals costs more than all of begin().
// Where the C library loads none such into a process that runs already (CMakeLists.txt), it costs that.
#ifdef __GLIBC__
extern constinit thread_local Thread* thread __attribute__((tls_model("initial-exec")));
#else
extern constinit thread_local Thread* thread;
#endif
extern std::atomic<Record*> record;  // of this process; calls of other threads may find it when it is made
Thread* attach(uint16_t function = 0, const void* caller = nullptr);
// Calls must come one after the other, of whatever threads. Written once, before several can call.
extern bool one_at_a_time;
// Up to which call all are stamped: kAlwaysStamped, or for ever, while somebody wants to know how long they take: a tool, or
// the profile.
extern std::atomic<uint64_t> stamped_to;
extern std::atomic<bool> times_calls;
[[gnu::cold]] void timed(const CallRecord& call, uint64_t now);
[[gnu::cold]] void expect_alone(const Thread& mine, uint16_t function, const void* caller);

// Four bytes that are written at once.
struct [[gnu::may_alias]] Head {
  uint16_t function;
  State state;
  uint8_t marks;
};
inline void set_head(CallRecord& call, Head head) {
  static_assert(offsetof(CallRecord, state) == offsetof(CallRecord, function) + offsetof(Head, state) &&
                offsetof(CallRecord, marks) == offsetof(CallRecord, function) + offsetof(Head, marks) &&
                offsetof(CallRecord, function) % sizeof(Head) == 0);
  __atomic_store(reinterpret_cast<Head*>(&call.function), &head, __ATOMIC_RELAXED);
}
}  // namespace inside

inline Record* mine() {
  return inside::record.load(std::memory_order_acquire);
}  // nullptr before open()

// Where this thread writes; nullptr: nowhere.
inline Thread* thread() {
  Thread* t = inside::thread;
  if (t == &inside::unasked) return inside::attach();
  return t == &inside::nobody ? nullptr : t;
}

// The call that this thread is in, to be enriched; nullptr where nothing is written. (Who is unasked or
// nobody is inside of a call for ever, and of none.)
inline CallRecord* now() {
  Thread* t = inside::thread;
  return t->inside ? t->call : nullptr;
}

// Who judges which thread calls: told of each thread's first recorded call, before it does anything, and where
// calls must come one after the other, of one that comes while another thread is inside of `other`.
struct Judge {
  void (*newcomer)(uint16_t function, const void* caller) = nullptr;
  void (*overlap)(uint16_t function, const void* caller, const CallRecord& other) = nullptr;
};
// Once, before several threads can call.
void set_judge(Judge judge, bool one_at_a_time);

// A call begins; nullptr when nothing is written, or inside another call (a callback's). `marks`: of
// the arguments that are noted next.
[[gnu::always_inline]] inline Thread* begin(uint16_t function, const void* caller, uint8_t marks) {
  Thread* t = inside::thread;
  if (t->inside) [[unlikely]] {
    if (t != &inside::unasked || !(t = inside::attach(function, caller))) return nullptr;
  }
  Record& record = *mine();
  const uint64_t number = record.calls.load(std::memory_order_relaxed) + 1;
  record.calls.store(number, std::memory_order_relaxed);
  const bool several = record.several.load(std::memory_order_relaxed);
  if (several && inside::one_at_a_time) [[unlikely]]
    inside::expect_alone(*t, function, caller);
  CallRecord& call = several ? t->now : record.ring[number % kCalls];
  set(call.number, number);
  set(call.caller, reinterpret_cast<uintptr_t>(caller));
  set(call.context, 0);
  const bool stamped = number % 64 == 0 || number <= inside::stamped_to.load(std::memory_order_relaxed);
  set(call.stamp, stamped ? clock_now() : 0);
  set(call.serial, 0);
  inside::set_head(call, {function, State::inside, marks});
  set(t->call, &call);
  set(t->number, number);
  set(t->inside, true);
  return t;
}
inline void end(Thread& t) {
  set(t.inside, false);
  if (t.looks | t.waits_for_count) [[unlikely]] {
    set(t.looks, 0);
    set(t.waits_for_count, 0);
  }
  CallRecord& call = *t.call;
  if (const uint64_t stamp = get(call.stamp)) {
    const uint64_t now = clock_now();
    set(t.returned, now);
    if (inside::times_calls.load(std::memory_order_relaxed)) [[unlikely]]
      inside::timed(call, now);
  }
  set(call.state, State::returned);
  // Other threads may have come since the call began, and gone around the ring.
  if (&call == &t.now) copy(mine()->ring[t.number % kCalls], call);
}
// ---- arguments of a call that this thread is in

inline void mark(CallRecord& call, uint8_t marks) {
  set(call.marks, static_cast<uint8_t>(call.marks | marks));
}
inline void note_peer(CallRecord& call, int peer, int tag) {
  set(call.peer, peer);
  set(call.tag, tag);
}
inline void note_data(CallRecord& call, int64_t count, uint64_t type) {
  set(call.count, count);
  set(call.type, type);
}
inline void note_other_data(CallRecord& call, int64_t count, uint64_t type) {
  set(call.other_count, count);
  set(call.other_type, type);
}
inline void note_op(CallRecord& call, uint64_t op) {
  set(call.op, op);
}

// From now on, or no more, the time in each function is summed up, of calls that are recorded: those that communicate,
// wait, or make and free objects.
void time_calls(bool on);
double seconds_in(uint16_t function);

// The profile, which hears of each call that is recorded: when it is over, with the engine owned or not, and, perhaps
// repeatedly, of one that has waited for long, with the process that it waits for where that is a single one of its job (-1
// otherwise). `call` is the thread's own. Once, before several threads can call.
struct Profile {
  void (*over)(const CallRecord& call, uint64_t now) = nullptr;
  void (*waits)(const CallRecord& call, int32_t process) = nullptr;
};
void set_profile(Profile profile);
int64_t nanoseconds();  // the clock by which Record::nanoseconds is

// A call that only looks.
inline void look(uint16_t function, const void* caller) {
  Thread* t = inside::thread;
  if (t == &inside::unasked) t = inside::attach(function, caller);
  if (!t || t == &inside::nobody) return;
  if (inside::one_at_a_time && !t->inside) [[unlikely]]
    inside::expect_alone(*t, function, caller);
  set(t->looks, t->looks + 1);
  set(t->looks_function, function);
  set(t->looks_caller, reinterpret_cast<uintptr_t>(caller));
}

// The call waits, and has for a while: the first time the clock is read.
void waits();
// For whom, if that is known: for so many of its own job, and of other ones; for all of them, or for some.
void waits_for(const int32_t* processes, int count, const Elsewhere* elsewhere, int others, bool some);

void comm_made(const CommRecord& comm);
void comm_named(uint64_t context, std::string_view name);
void comm_freed(uint64_t context);

// ---- reading

// "3 ranks", or of an intercommunicator "3 and 2 ranks".
std::string ranks_text(const CommRecord& comm);
// What that function makes of a communicator's ranks: "a communicator", or "a persistent collective".
const char* product_of(uint16_t function);

// Of a copy of another process's record: whether it is one of this version, and makes it one that
// everything below may be given, whatever stands in it. Texts end within their fields, a rank is one
// of the job's, a list has no more entries than places.
bool make_sound(Record& copy);

// What a call in the record says.
CallRecord read(const CallRecord& call);
// What the thread does, or did last.
CallRecord latest_call(const Record& record, const Thread& thread);
std::string_view name_of_function(uint16_t function);
std::string name_of_datatype(uint64_t handle);
std::string name_of_op(uint64_t handle);
std::optional<CommRecord> find_comm(const Record& record, uint64_t context);  // nullopt: forgotten
// The latest calls, the oldest first, without the one that is under way.
int latest_calls(const Record& record, CallRecord* into, int room);
// "MPI_Bcast(count 4, MPI_INT, root 2)"
std::string description(const CallRecord& call);
// How long ago, seen from the record's own node; -1: the stamp is 0.
double seconds_since(const Record& record, uint64_t stamp);

}  // namespace tutti::flight
