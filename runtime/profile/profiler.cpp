// SPDX-License-Identifier: BSD-3-Clause
#include "profile/profiler.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu.hpp"
#include "base/flight.hpp"
#include "base/flight_files.hpp"
#include "base/flight_moment.hpp"
#include "base/mutex.hpp"
#include "functions.hpp"
#include "life/sinks.hpp"
#include "profile/asking.hpp"
#include "profile/kept_memory.hpp"
#include "profile/overlap.hpp"
#include "profile/page.hpp"
#include "profile/recorder.hpp"
#include "profile/sites.hpp"
#include "profile/timeline.hpp"

namespace tutti::profile {
namespace {

using life::Event;
using life::Happening;

// What a function waits for beyond messages and collectives.
enum class Kind : uint8_t { other, probe, lock, window, file };

Kind kind_of(std::string_view name) {
  if (name.starts_with("MPI_Win_lock")) return Kind::lock;
  for (const std::string_view waits : {"MPI_Win_flush", "MPI_Win_unlock", "MPI_Win_wait", "MPI_Win_complete"})
    if (name.starts_with(waits)) return Kind::window;
  if (name.starts_with("MPI_Probe") || name.starts_with("MPI_Mprobe")) return Kind::probe;
  if (name.starts_with("MPI_File_read") || name.starts_with("MPI_File_write")) return Kind::file;
  if (name.starts_with("MPI_File_iread") || name.starts_with("MPI_File_iwrite")) return Kind::file;
  return Kind::other;
}

// Calls that only look are a run where one follows so soon: who computes between them computes for longer.
constexpr double kCloseNanoseconds = 20'000;

// What a thread has waited for in its call so far.
struct Waited {
  int32_t process;
  Wait kind;
  uint64_t ticks;
};
struct CallNow {
  uint64_t number = 0;                   // of the call
  uint64_t from = 0;                     // up to when its time is known to be waiting, moving or work
  uint64_t matched = 0, matched_at = 0;  // the latest receive whose message came in this call
  uint32_t count = 0, collectives = 0, latest_collective = 0;
  FileUse file;
  bool in_collective = false;
  bool waits = false;  // has waited for long, and, if that is known, for this process
  int32_t process = -1;
  Waited waited[8];
  Waited latest;  // of them, `ticks` being when it came
};
struct Regions {
  int depth = 0;
  uint8_t of[32] = {};
};
struct OfThread {
  CallNow call;
  Regions regions;
  Asking asking;
  uint64_t at_file_ticks = 0;  // since the latest collective of this thread began
};
// Made when it is first asked for, which threads of jobs without a profile never do: what stands in the library's own
// thread-locals has to find room in any program that loads it (docs/design.md, "Thread-locals").
OfThread& mine_of_thread() {
  static thread_local std::unique_ptr<OfThread> mine;
  if (!mine) [[unlikely]]
    mine = std::make_unique<OfThread>();
  return *mine;
}

uint8_t thread_place() {
  return static_cast<uint8_t>(flight::thread_place());
}

// By the engine's owner; another thread may begin again meanwhile, and drop some of it.
void count(Size (&sizes)[kSizes], int64_t bytes) {
  const auto length = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  Size& size = sizes[std::min<size_t>(std::bit_width(length), kSizes - 1)];
  flight::set(size.messages, flight::get(size.messages) + 1);
  flight::set(size.bytes, flight::get(size.bytes) + length);
}

// Large: one table of sites, one of collectives, and what is told of either.
class Profiler final : public life::Sink {
 public:
  Profiler(Page& page, const Job& job, Timeline* timeline) : page_(page), job_(job) {
    if (timeline) recorder_.emplace(*timeline, job.rank, job.size);
    for (size_t i = 0; i < kWithExtensions; ++i)
      kinds_[i] = kind_of(flight::name_of_function(static_cast<uint16_t>(i)));
  }

  void begin() {
    listen(life::bit(Happening::operation_posted) | life::bit(Happening::message_matched) |
           life::bit(Happening::operation_moved) | life::bit(Happening::operation_over) |
           life::bit(Happening::collective_begun) | life::bit(Happening::collective_ended));
  }
  void end() {
    listen(0);
    const Lock lock(mutex_);
    if (page_.ended == 0) page_.ended = cpu::ticks();
    see();
  }

  void over(const flight::CallRecord& call, uint64_t now);
  void waits(const flight::CallRecord& call, int32_t process);
  void at_file(const flight::FileCall& call, int64_t unit, uint64_t ticks);

  uint8_t region_named(std::string_view name);
  void count_calls(bool on) { counts_.store(on, std::memory_order_relaxed); }
  void start_again();

 private:
  void hears(const Event& event) override TUTTI_ENGINE_OWNED;
  void hear_of_receive(CallNow& now, const Event& event, uint64_t ticks) TUTTI_ENGINE_OWNED;
  void begin_collective(const Event& event, uint64_t now) TUTTI_ENGINE_OWNED;
  void end_collective(const Event& event, uint64_t now) TUTTI_ENGINE_OWNED;
  Collective* find(const Event& event, bool makes) TUTTI_REQUIRES(mutex_);
  void thin_out() TUTTI_REQUIRES(mutex_);
  uint32_t site_of(const flight::CallRecord& call) TUTTI_REQUIRES(mutex_);
  void hear_of_operation(const Event& event, uint64_t ticks) TUTTI_ENGINE_OWNED;
  // Both clocks, for whoever reads the page later.
  void see() TUTTI_REQUIRES(mutex_) {
    const flight::Clocks now = flight::clocks_now();
    page_.seen = now.ticks;
    page_.seen_nanoseconds = now.nanoseconds;
  }
  void asked_for(int32_t process, uint64_t ticks) TUTTI_ENGINE_OWNED;
  static void wait_for_others(Site& site, Kind kind, Span& span, bool lasted);
  // The call that this thread is in, and that counts; nullptr: it is in none.
  static CallNow* now_in_call();

  Page& page_;
  const Job job_;
  Kind kinds_[kWithExtensions];
  std::optional<Recorder> recorder_;
  Overlap overlap_;
  // For what several threads write: the tables. Readers are there when all are gone.
  Mutex mutex_;
  std::atomic<bool> counts_{true};
  // The least time that a byte has taken, of long messages: what a send takes beyond it waits for its receiver.
  double ticks_per_byte_ TUTTI_OWNERS = 0;
};

// It lives as long as the process.
std::atomic<Profiler*> profiler{nullptr};

CallNow* Profiler::now_in_call() {
  const flight::CallRecord* const call = flight::now();
  if (!call) return nullptr;
  CallNow& now = mine_of_thread().call;
  if (now.number != call->number) {
    now.number = call->number;
    now.from = call->stamp;
    now.count = now.collectives = 0;
    now.matched = 0;
    now.file = {};
    now.in_collective = now.waits = false;
    now.process = -1;
    now.latest = {-1, Wait::late_sender, 0};
  }
  return &now;
}

void add(FileUse& to, const FileUse& use) {
  to.pieces += use.pieces, to.bytes += use.bytes, to.ticks += use.ticks, to.unaligned += use.unaligned;
}

// Up to `until`.
void add(CallNow& now, int32_t process, Wait kind, uint64_t ticks, uint64_t until) {
  now.latest = {process, kind, until};
  for (uint32_t i = 0; i < now.count; ++i)
    if (now.waited[i].process == process && now.waited[i].kind == kind) return void(now.waited[i].ticks += ticks);
  if (now.count < std::size(now.waited)) now.waited[now.count++] = {process, kind, ticks};
  // Otherwise nobody is blamed for it in this call; for more than some it is enough to know the first ones.
}

void Profiler::hears(const Event& event) {
  const bool is_collective = event.what == Happening::collective_begun || event.what == Happening::collective_ended;
  if (!is_collective && (event.context & 1)) return;
  if (event.what == Happening::operation_posted && event.is_receive) {
    if (event.operation != 0) overlap_.begins();
    return;
  }
  const uint64_t ticks = cpu::ticks();
  if (event.what == Happening::collective_begun) return begin_collective(event, ticks);
  if (event.what == Happening::collective_ended) return end_collective(event, ticks);
  hear_of_operation(event, ticks);
}

void Profiler::hear_of_operation(const Event& event, uint64_t ticks) {
  if (event.operation != 0 && event.what == Happening::operation_over) overlap_.ends(ticks);
  const bool counts = counts_.load(std::memory_order_relaxed);
  if (event.what == Happening::operation_posted) {
    if (event.operation != 0) overlap_.begins();
    if (counts) count(page_.sent, event.bytes);
    // Some sends are told of when the message is gone, and somebody else may have run meanwhile: before all that its receiver
    // does is what was before in this call.
    if (recorder_) {
      const CallNow* const now = now_in_call();
      recorder_->add_message(event, false, now ? now->from : ticks, thread_place());
    }
    return;
  }
  if (event.is_receive && event.what == Happening::operation_moved && counts) count(page_.received, event.bytes);
  if (event.is_receive && event.what == Happening::message_matched && recorder_)
    recorder_->add_message(event, true, ticks, thread_place());
  CallNow* const now = now_in_call();
  if (!now && event.what == Happening::operation_over && !event.by_helper) return asked_for(event.process, ticks);
  if (!now || now->in_collective || ticks < now->from) return;
  if (event.is_receive) return hear_of_receive(*now, event, ticks);
  if (event.what != Happening::operation_over || event.operation == 0 || event.process == job_.rank) return;
  // Some of it was moving. A gigabyte a second until it is known better.
  const double least = ticks_per_byte_ > 0 ? ticks_per_byte_ : 3;
  const auto moving = static_cast<uint64_t>(least * static_cast<double>(event.bytes));
  const uint64_t took = ticks - now->from;
  if (took > moving) add(*now, event.process, Wait::late_receiver, took - moving, ticks);
  now->from = ticks;
}

// Outside of calls that are recorded, something is over: the thread may have asked for it again and again.
void Profiler::asked_for(int32_t process, uint64_t ticks) {
  const flight::Thread* const thread = flight::thread();
  if (!thread || thread->looks == 0 || !counts_.load(std::memory_order_relaxed)) return;
  const auto passed = static_cast<double>(flight::nanoseconds() - page_.begun_nanoseconds);
  const double each = passed > 0 ? static_cast<double>(ticks - page_.begun) / passed : 1;
  const uint64_t asked = mine_of_thread().asking.until(*thread, ticks, static_cast<uint64_t>(kCloseNanoseconds * each));
  if (asked == 0) return;
  flight::CallRecord run;
  run.caller = thread->looks_caller;
  run.function = thread->looks_function;
  const Lock lock(mutex_);
  const uint32_t at = site_of(run);
  Site& site = page_.sites[at];
  sum_up(site, asked);
  overlap_.asked(asked);
  site.waited[static_cast<size_t>(Wait::asking)] += asked;
  if (process >= 0) blame(site, process, Wait::asking, asked);
  if (recorder_)
    recorder_->add_call({.begun = ticks - asked,
                         .over = ticks,
                         .waited = asked,
                         .waits_to = ticks,
                         .process = process,
                         .site = static_cast<uint16_t>(at),
                         .kind = Wait::asking,
                         .thread = thread_place()},
                        Doing::waiting);
}

void Profiler::hear_of_receive(CallNow& now, const Event& event, uint64_t ticks) {
  if (event.what == Happening::message_matched) {
    if (event.process != job_.rank) add(now, event.process, Wait::late_sender, ticks - now.from, ticks);
    now.matched = event.operation;
    now.matched_at = now.from = ticks;
  } else if (event.what == Happening::operation_moved) {
    constexpr int64_t kLong = 64 << 10;
    if (event.bytes >= kLong && now.matched == event.operation && event.operation != 0) {
      const double each = static_cast<double>(ticks - now.matched_at) / static_cast<double>(event.bytes);
      if (ticks_per_byte_ == 0 || each < ticks_per_byte_) ticks_per_byte_ = each;
    }
    now.from = ticks;
  }
}

// ---- collectives

Collective* Profiler::find(const Event& event, bool makes) {
  for (;;) {
    if (event.serial % page_.every != 0) return nullptr;
    size_t at = mixed(event.context, event.serial) % kCalls;
    for (size_t tries = 0; tries < kCalls; ++tries, at = (at + 1) % kCalls) {
      Collective& each = page_.collectives[at];
      const bool is_it = each.context == event.context && each.serial == event.serial && each.leader == event.process &&
                         each.left == 0;
      if (each.serial == 0 ? makes && page_.collectives_kept < kCalls / 2 : is_it) return &each;
      if (each.serial == 0) break;
    }
    if (!makes) return nullptr;
    thin_out();
  }
}

// Seldom: each time half as many calls are kept from then on.
void Profiler::thin_out() {
  std::vector<Collective> kept;
  page_.every *= 2;
  for (Collective& each : page_.collectives) {
    if (each.serial != 0 && each.serial % page_.every == 0) kept.push_back(each);
    each = {};
  }
  for (const Collective& each : kept) {
    size_t at = mixed(each.context, each.serial) % kCalls;
    while (page_.collectives[at].serial != 0) at = (at + 1) % kCalls;
    page_.collectives[at] = each;
  }
  page_.collectives_kept = static_cast<uint32_t>(kept.size());
}

void Profiler::begin_collective(const Event& event, uint64_t now) {
  overlap_.begins();
  if (CallNow* const call = now_in_call()) call->in_collective = true;
  const uint64_t at_file = std::exchange(mine_of_thread().at_file_ticks, 0);
  if (event.serial % page_.every != 0 || event.process < 0) return;
  const Lock lock(mutex_);
  Collective* const made = find(event, true);
  if (!made) return;
  *made = {
      .context = event.context, .serial = event.serial, .leader = event.process, .entered = now, .at_file = at_file};
  ++page_.collectives_kept;
}

void Profiler::end_collective(const Event& event, uint64_t now) {
  overlap_.ends(now);
  CallNow* const call = now_in_call();
  if (!call && !event.by_helper) asked_for(-1, now);
  if (!call || now < call->from) return;
  ++call->collectives;
  const uint64_t from = call->from;
  call->from = now;
  if (event.serial % page_.every != 0) return;
  const Lock lock(mutex_);
  Collective* const known = find(event, false);
  if (!known) return;
  known->waits_from = std::max(from, known->entered);
  known->left = now;
  if (const flight::CallRecord* const record = flight::now()) known->site = site_of(*record);
}

// ---- calls

uint32_t Profiler::site_of(const flight::CallRecord& call) {
  const Regions& mine = mine_of_thread().regions;
  const uint8_t region =
      mine.depth > 0 ? mine.of[std::min<size_t>(static_cast<size_t>(mine.depth), std::size(mine.of)) - 1] : 0;
  return site_at(page_, call.caller, call.function, region);
}

void Profiler::over(const flight::CallRecord& call, uint64_t now) {
  if (!counts_.load(std::memory_order_relaxed)) return;
  const uint64_t ticks = now > call.stamp ? now - call.stamp : 0;
  const Lock lock(mutex_);
  const uint32_t at = site_of(call);
  Site& site = page_.sites[at];
  if (call.number % 1024 == 0) see();
  // MPI_Finalize ends it, and is over a little later.
  if (page_.ended != 0) page_.ended = now;
  sum_up(site, ticks);
  if (page_.open_since == call.stamp) page_.open_since = 0;
  const Kind kind = call.function < kWithExtensions ? kinds_[call.function] : Kind::other;
  if (kind == Kind::file && (call.marks & flight::kData) && call.count > 0 && job_.bytes_of_type)
    site.bytes += static_cast<uint64_t>(call.count * job_.bytes_of_type(call.type));
  overlap_.call(call.stamp, now, page_.overlapped, page_.exposed);
  CallNow& mine = mine_of_thread().call;
  const bool has_events = mine.number == call.number;
  Span span{.begun = call.stamp,
            .over = std::max(now, call.stamp),
            .site = static_cast<uint16_t>(at),
            .thread = thread_place()};
  if (has_events) {
    site.collectives += mine.collectives;
    add(site.file, mine.file);
    for (uint32_t i = 0; i < mine.count; ++i) {
      const Waited& each = mine.waited[i];
      site.waited[static_cast<size_t>(each.kind)] += each.ticks;
      blame(site, each.process, each.kind, each.ticks);
      span.waited += each.ticks;
    }
    if (mine.count > 0)
      span.waits_to = mine.latest.ticks, span.process = mine.latest.process, span.kind = mine.latest.kind;
  }
  if (kind != Kind::other && kind != Kind::file) wait_for_others(site, kind, span, has_events && mine.waits);
  if (!recorder_) return;
  const bool collective = has_events && (mine.in_collective || mine.collectives > 0);
  recorder_->add_call(span, kind == Kind::file ? Doing::in_files : collective ? Doing::in_collectives : Doing::moving);
}

// Any thread: those of the pool are in no call.
void Profiler::at_file(const flight::FileCall& call, int64_t unit, uint64_t ticks) {
  mine_of_thread().at_file_ticks += ticks;
  if (call.does == flight::FileDoes::nothing || !counts_.load(std::memory_order_relaxed)) return;
  const bool reads = call.does == flight::FileDoes::reads, writes = call.does == flight::FileDoes::writes;
  FileUse use{.pieces = 1, .ticks = ticks};
  if (reads || writes) {
    use.bytes = static_cast<uint64_t>(call.bytes);
    use.unaligned = unit > 0 && (call.offset % unit != 0 || (call.offset + call.bytes) % unit != 0);
  }
  if (CallNow* const now = now_in_call()) add(now->file, use);
  const Lock lock(mutex_);
  page_.file_unit = std::max(page_.file_unit, static_cast<uint64_t>(std::max<int64_t>(unit, 0)));
  add(page_.files[reads ? 0 : writes ? 1 : 2], use);
}

// A call that no message of the program ends: whatever it takes beyond its quickest one is for another rank. Who, is known of
// what has lasted (waits()).
void Profiler::wait_for_others(Site& site, Kind kind, Span& span, bool lasted) {
  const uint64_t ticks = span.over - span.begun;
  const uint64_t waited = lasted ? ticks : ticks - site.shortest;
  const Wait why = kind == Kind::lock ? Wait::lock : kind == Kind::probe ? Wait::late_sender : Wait::elsewhere;
  site.waited[static_cast<size_t>(why)] += waited;
  if (waited == 0) return;
  const int32_t process = lasted ? mine_of_thread().call.process : -1;
  blame(site, process, why, waited);
  span.waited += waited;
  span.waits_to = span.over, span.process = process, span.kind = why;
}

// A call that has waited for long, and for whom, if that is one.
void Profiler::waits(const flight::CallRecord& call, int32_t process) {
  if (CallNow* const now = now_in_call()) {
    now->waits = true;
    if (process >= 0) now->process = process;
  }
  const Lock lock(mutex_);
  see();
  if (process >= 0 || page_.open_since != call.stamp) page_.open_process = process;
  page_.open_site = site_of(call);
  page_.open_since = call.stamp;
}

// ---- regions, and what the program says

uint8_t Profiler::region_named(std::string_view name) {
  const Lock lock(mutex_);
  name = name.substr(0, sizeof page_.regions[0] - 1);
  for (uint8_t i = 1; i < kRegions; ++i) {
    char(&known)[48] = page_.regions[i];
    if (!known[0]) name.copy(known, sizeof known - 1);
    if (name == known) return i;
  }
  return 0;
}

void Profiler::start_again() {
  const Lock lock(mutex_);
  for (Site& site : page_.sites) {
    if (site.caller == 0 && site.calls == 0) continue;
    Site empty;
    empty.caller = site.caller;
    empty.offset = site.offset;
    empty.function = site.function;
    empty.module = site.module;
    empty.region = site.region;
    site = empty;
  }
  for (Size* sizes : {page_.sent, page_.received})
    for (size_t i = 0; i < kSizes; ++i) flight::set(sizes[i].messages, 0), flight::set(sizes[i].bytes, 0);
  for (Collective& each : page_.collectives) each = {};
  page_.collectives_kept = 0;
  flight::set(page_.overlapped, 0), flight::set(page_.exposed, 0);
  for (FileUse& use : page_.files) use = {};
  const flight::Clocks now = flight::clocks_now();
  page_.begun = now.ticks;
  page_.begun_nanoseconds = now.nanoseconds;
  if (recorder_) recorder_->start_again(page_.begun);
}

void over(const flight::CallRecord& call, uint64_t now) {
  if (Profiler* const mine = profiler.load(std::memory_order_acquire)) mine->over(call, now);
}
void waits(const flight::CallRecord& call, int32_t process) {
  if (Profiler* const mine = profiler.load(std::memory_order_acquire)) mine->waits(call, process);
}
void at_file(const flight::FileCall& call, int64_t unit, uint64_t begun, uint64_t now) {
  if (Profiler* const mine = profiler.load(std::memory_order_acquire))
    mine->at_file(call, unit, now > begun ? now - begun : 0);
}

}  // namespace

Error begin(const Job& job) {
  if (profiler.load(std::memory_order_acquire)) return {};
  const std::string own = job.file.empty() ? "" : job.file + ".ranks";
  Result<void*> memory = kept_memory(file_name(job.rank), sizeof(Page), own);
  if (!memory) return std::move(memory).error();
  Page& page = *new (*memory) Page;
  page.bytes = sizeof(Page);
  page.rank = job.rank;
  page.size = job.size;
  const std::string_view program = program_invocation_short_name;
  program.copy(page.program, sizeof page.program - 1);
  job.host.substr(0, sizeof page.host - 1).copy(page.host, sizeof page.host - 1);
  const flight::Clocks now = flight::clocks_now();
  page.begun = now.ticks;
  page.begun_nanoseconds = now.nanoseconds;
  std::memcpy(page.magic, kMagic, sizeof kMagic);
  Timeline* timeline = nullptr;
  if (job.has_timeline) {
    Result<void*> more = kept_memory(timeline_file_name(job.rank), sizeof(Timeline), own);
    if (!more) return std::move(more).error();
    timeline = new (*more) Timeline;
    timeline->bytes = sizeof(Timeline);
    timeline->rank = job.rank;
    timeline->begun = page.begun;
    timeline->period_bits = kFirstPeriodBits;
    std::memcpy(timeline->magic, kTimelineMagic, sizeof kTimelineMagic);
  }
  auto* const made = new Profiler(page, job, timeline);
  profiler.store(made, std::memory_order_release);
  flight::set_profile({over, waits});
  flight::set_file_listener(at_file);
  made->begin();
  return {};
}

void end() {
  if (Profiler* const mine = profiler.load(std::memory_order_acquire)) mine->end();
}

void enter_region(const char* name) {
  Profiler* const mine = profiler.load(std::memory_order_acquire);
  if (!mine || !name) return;
  Regions& all = mine_of_thread().regions;
  const auto depth = static_cast<size_t>(all.depth++);
  if (depth >= std::size(all.of)) return;
  const uint8_t region = mine->region_named(name);
  all.of[depth] = region != 0 || depth == 0 ? region : all.of[depth - 1];
}
void leave_region() {
  if (!profiler.load(std::memory_order_acquire)) return;
  Regions& all = mine_of_thread().regions;
  if (all.depth > 0) --all.depth;
}
void count_calls(bool on) {
  if (Profiler* const mine = profiler.load(std::memory_order_acquire)) mine->count_calls(on);
}
void start_again() {
  if (Profiler* const mine = profiler.load(std::memory_order_acquire)) mine->start_again();
}

}  // namespace tutti::profile
