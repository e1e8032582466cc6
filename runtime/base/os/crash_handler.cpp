// SPDX-License-Identifier: BSD-3-Clause
// Everything behind handle() is safe in a signal handler: system calls, memory that was there before,
// and the unwinder, which takes no lock with the C library of 2022 and later. No memory is asked for,
// nothing is formatted by the C library.
#include "base/os/crash_handler.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/address_key.hpp"
#include "base/log.hpp"
#include "base/os/crash_record.hpp"
#include "function_names.hpp"
#include "functions.hpp"

namespace tutti::crash {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr size_t kStack = 128 << 10, kGuard = 64 << 10;
constexpr int kPatience = 2000;  // milliseconds that other threads which crash leave to the first

char file[4096];  // of the record; empty: nobody would read it
// Written before other threads exist, or in one that begins MPI.
std::atomic<pid_t> process_of_record = 0;  // a forked child is none of the job's ranks
std::atomic<int> crashing = 0;             // the thread whose crash it is
constinit Record record{};

struct Frames {
  uint64_t pc;  // of the fault, whose frame is the first that counts
  bool found;
  int count;
  uint64_t at[kFrames];
};
Frames frames;
uint64_t caller_address;

pid_t own_thread() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

// The signal's default action, when the handler has returned: with the registers of the fault, and all
// that the kernel has said of it, so that a core file shows these. Whoever sent it need not be asked
// again, as some faults, seen twice, are none any more.
void end_as_if_unhandled(int signal, siginfo_t* info) {
  struct sigaction otherwise{};
  otherwise.sa_handler = SIG_DFL;
  ::sigaction(signal, &otherwise, nullptr);
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), own_thread(), signal, info) != 0)
    ::syscall(SYS_tgkill, ::getpid(), own_thread(), signal);
}

struct Registers {
  uint64_t pc = 0, stack = 0;
};
Registers registers_of([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return {static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]),
          static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {context.uc_mcontext.pc, context.uc_mcontext.sp};
#else
  return {};
#endif
}

// ---- where

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void*) {
  int exact = 0;
  const uint64_t address = _Unwind_GetIPInfo(context, &exact);
  if (!frames.found) {
    frames.found = exact && address == frames.pc;
    if (!frames.found) return _URC_NO_REASON;  // the handler's own
  }
  // A call is the instruction before the one that it returns to.
  frames.at[frames.count++] = exact ? address : address - 1;
  return frames.count == kFrames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void find_frames(const Registers& registers, uint64_t address) {
  frames.count = 0;
  _Unwind_Backtrace(add_frame, nullptr);
  if (frames.count > 1 || registers.pc != address) return;
  // A call of what is no code: it has left on the stack only where it came from.
#if defined(__x86_64__)
  frames.at[0] = *reinterpret_cast<const uint64_t*>(registers.stack) - 1;
  frames.count = 1;
#endif
}

// A line of /proc/self/maps: "begin-end rights offset device inode path".
uint64_t take_hex(const char*& text) {
  uint64_t value = 0;
  for (;; ++text) {
    const int digit = *text >= '0' && *text <= '9' ? *text - '0' : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + static_cast<uint64_t>(digit);
  }
}
const char* skip_words(const char* text, int words) {
  for (; words > 0; --words) {
    while (*text == ' ') ++text;
    while (*text && *text != ' ') ++text;
  }
  while (*text == ' ') ++text;
  return text;
}

class Places {
 public:
  void add_mapping(const char* line) {
    const uint64_t begin = take_hex(line);
    const uint64_t end = take_hex(++line);
    line = skip_words(line, 1);
    const uint64_t offset = take_hex(line);
    const char* const path = skip_words(line, 2);
    if (*path != '/') return;
    int known = -1;
    const auto resolve = [&](uint64_t address, Place& place) {
      if (address < begin || address >= end) return;
      if (known < 0) known = keep(path);
      place = {address - begin + offset, known, 0};
    };
    for (int i = 0; i < frames.count; ++i) resolve(frames.at[i], record.frame[i]);
    resolve(caller_address, record.caller);
  }

 private:
  int keep(const char* path) {
    const size_t bytes = std::strlen(path) + 1;
    // A library has several mappings in a row.
    if (last_ >= 0 && std::strcmp(record.paths + last_, path) == 0) return last_;
    if (used_ + bytes > kPaths) return -1;
    std::memcpy(record.paths + used_, path, bytes);
    last_ = static_cast<int>(used_);
    used_ += bytes;
    return last_;
  }
  size_t used_ = 0;
  int last_ = -1;
};

void find_places() {
  static char bytes[4096], line[4096 + 256];
  for (Place& place : record.frame) place = Place();
  record.caller = Place();
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  Places places;
  size_t length = 0;
  for (;;) {
    const ssize_t n = ::read(maps, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    for (ssize_t i = 0; i < n; ++i) {
      if (bytes[i] != '\n') {
        if (length < sizeof line - 1) line[length++] = bytes[i];
        continue;
      }
      line[length] = 0;
      length = 0;
      places.add_mapping(line);
    }
  }
  ::close(maps);
  record.frames = frames.count;
}

// ---- which call of MPI

void find_call() {
  record.call = flight::CallRecord();
  record.comm = flight::CommRecord();
  caller_address = 0;
  const flight::Record* const flown = flight::mine();
  if (!flown) return;
  const flight::Thread* const thread = flight::inside::thread;
  if (thread != &flight::inside::unasked && thread != &flight::inside::nobody) {
    record.call = flight::latest_call(*flown, *thread);
    record.looks = record.call.state == flight::State::inside ? 0 : flight::get(thread->looks);
    record.looks_function = flight::get(thread->looks_function);
    if (record.looks) caller_address = flight::get(thread->looks_caller) - 1;
  } else {
    record.of_another_thread = 1;
    const uint64_t number = flown->calls.load(std::memory_order_relaxed);
    const flight::CallRecord latest = flight::read(flown->ring[number % flight::kCalls]);
    if (latest.number == number) record.call = latest;
  }
  if (record.call.number && record.call.caller && !caller_address) caller_address = record.call.caller - 1;
  if (record.call.context == 0) return;
  for (const flight::CommRecord& comm : flown->comm)
    if (flight::get(comm.context) == record.call.context) record.comm = flight::copy_of(comm);
}

// ---- to whom

bool write_all(int fd) {
  const char* const bytes = reinterpret_cast<const char*>(&record);
  for (size_t done = 0; done < sizeof record;) {
    const ssize_t n = ::pwrite(fd, bytes + done, sizeof record - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// A line for a person, where nobody makes better ones.
class Line {
 public:
  Line& add(const char* text) {
    while (*text && length_ < sizeof bytes_) bytes_[length_++] = *text++;
    return *this;
  }
  Line& add(uint64_t number, unsigned base) {
    char digits[24];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number > 0);
    while (count > 0 && length_ < sizeof bytes_) bytes_[length_++] = digits[--count];
    return *this;
  }
  void write() {
    for (size_t done = 0; done < length_;) {
      const ssize_t n = ::write(STDERR_FILENO, bytes_ + done, length_ - done);
      if (n <= 0) return;
      done += static_cast<size_t>(n);
    }
  }

 private:
  char bytes_[8192] = {};
  size_t length_ = 0;
};

const char* name_of(int signal) {
  switch (signal) {
      // clang-format off
    case SIGSEGV: return "Segmentation fault";
    case SIGBUS: return "Bus error";
    case SIGFPE: return "Floating point exception";
    case SIGILL: return "Illegal instruction";
    default: return "Aborted";
      // clang-format on
  }
}

void print() {
  constexpr int kShown = 16;
  static constinit Line line;
  line.add("tutti: ");
  if (!speaker().empty()) line.add("[").add(speaker().c_str()).add("] ");
  line.add("error: process ").add(static_cast<uint64_t>(record.pid), 10);
  line.add(" crashed: signal ").add(static_cast<uint64_t>(record.signal), 10);
  line.add(" (").add(name_of(record.signal)).add(")");
  if (record.code > 0) line.add(", address 0x").add(record.address, 16);
  for (int i = 0; i < record.frames && i < kShown; ++i) {
    const Place& place = record.frame[i];
    if (place.path < 0) continue;
    line.add("\n  at 0x").add(place.offset, 16).add(" of the file ").add(record.paths + place.path);
  }
  if (record.call.number && record.call.function < kWithExtensions) {
    line.add(record.call.state == flight::State::inside ? "\n  in " : "\n  the latest call was ");
    line.add(kFunctionNames[record.call.function]);
    if (record.caller.path >= 0)
      line.add(" at 0x").add(record.caller.offset, 16).add(" of the file ").add(record.paths + record.caller.path);
  }
  line.add("\n");
  line.write();
}

int make_file() {
  errno = 0;
  return *file ? ::open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
}

// Whether the file is of a program that the rank has run (system()), which has not called MPI, and this process has.
bool is_of_helper() {
  flight::CallRecord theirs;
  const int fd = ::open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const ssize_t n = ::pread(fd, &theirs, sizeof theirs, offsetof(Record, call));
  ::close(fd);
  return n == static_cast<ssize_t>(sizeof theirs) && theirs.number == 0 && record.call.number != 0;
}

void tell(int signal, const siginfo_t& info, const ucontext_t& context) {
  const Registers registers = registers_of(context);
  const bool of_kernel = info.si_code > 0;
  std::memcpy(record.magic, kMagic, sizeof kMagic);
  record.bytes = sizeof record;
  record.pid = ::getpid();
  record.thread = own_thread();
  record.signal = signal;
  record.code = info.si_code;
  record.sender = of_kernel ? 0 : info.si_pid;
  record.address = of_kernel ? reinterpret_cast<uintptr_t>(info.si_addr) : 0;
  record.pc = registers.pc;
  record.stack = registers.stack;
  frames = {.pc = registers.pc, .found = false, .count = 1, .at = {registers.pc}};
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  record.when = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  find_call();
  find_places();
  int fd = make_file();
  if (fd < 0 && errno == EEXIST) {  // another process of this rank was first
    if (!is_of_helper() || ::unlink(file) != 0) return;
    fd = make_file();
  }
  // At first without what takes a look at the stack, which may be in no state to be looked at.
  const bool kept = fd >= 0 && write_all(fd);
  find_frames(registers, of_kernel ? record.address : registers.pc + 1);
  find_places();
  record.is_whole = 1;
  if (!kept || !write_all(fd)) print();
  if (fd >= 0) ::close(fd);
}

void handle(int signal, siginfo_t* info, void* context) {
  const int before = errno;
  int nobody = 0;
  if (::getpid() == process_of_record) {
    // Whoever comes second waits for the first, whose return ends them all. It orders nothing else.
    if (crashing.compare_exchange_strong(nobody, own_thread(), std::memory_order_relaxed))
      tell(signal, *info, *static_cast<const ucontext_t*>(context));
    else if (nobody != own_thread())
      for (int waited = 0; waited < kPatience; ++waited) {
        const timespec millisecond{0, 1'000'000};
        ::nanosleep(&millisecond, nullptr);
      }
  }
  end_as_if_unhandled(signal, info);
  errno = before;
}

// ---- before

// The kernel's word: a sanitizer that stands between the program and the kernel says otherwise.
bool is_default(int signal) {
  uint64_t words[8] = {};
  return ::syscall(SYS_rt_sigaction, signal, nullptr, words, 8) == 0 && words[0] == 0;
}

void give_stack() {
  stack_t now{};
  if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  void* const memory = ::mmap(nullptr, kGuard + kStack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  char* const begin = static_cast<char*>(memory) + kGuard;
  if (::mprotect(begin, kStack, PROT_READ | PROT_WRITE) != 0) return;
  stack_t made{};
  made.ss_sp = begin;
  made.ss_size = kStack;
  ::sigaltstack(&made, nullptr);
}

void name_file() {
  const char *const folder = std::getenv(kJobFolderVariable), *const rank = std::getenv("PMIX_RANK");
  if (!folder || !rank || std::strlen(folder) + std::strlen(rank) + 16 > sizeof file) return;
  std::strcpy(file, folder);
  std::strcat(file, "/");
  std::strcat(file, kFilePrefix);
  std::strcat(file, rank);
}

}  // namespace

void watch() {
  if (process_of_record.exchange(::getpid()) != 0) return;
  name_file();
  speaker();  // exists from now on
  bool any = false;
  for (const int signal : kSignals) {
    if (!is_default(signal)) continue;
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigfillset(&action.sa_mask);
    any = ::sigaction(signal, &action, nullptr) == 0 || any;
  }
  if (!any) return;
  give_stack();
  // The unwinder makes what it needs of memory when it is first used.
  frames = {};
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_NO_REASON; }, nullptr);
}

}  // namespace tutti::crash
