// SPDX-License-Identifier: BSD-3-Clause
// The path of a short message within a node makes no allocation and no system call. Two ranks with
// a core each play ping-pong, and send windows of MPI_Isend that an empty message answers. Counted
// is what the calling thread does: allocations by a malloc of our own, system calls by having the
// kernel hand them to us (Syscall User Dispatch, since Linux 5.11) before they are performed.
//
// Whom the kernel keeps from its core for long has a peer that yields, and sleeps in the end, and
// then has to be rung for, as has its progress thread: that is no part of the path. So the rounds
// come in batches, and most of them must be free of system calls altogether, as one that the path
// makes would be in each of them. Allocations are none in any. With the argument "spinning", and
// wait.spins=1000000000, nobody yields or sleeps either.
#if !defined(__x86_64__)
#include <cstdio>

int main() {
  std::puts("skipped: on this processor the kernel hands no system calls over");
  return 77;
}
#else
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <map>

#include "check.hpp"
#include "count_allocations.hpp"

namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE of the test

// ---- system calls

constexpr int kNumbers = 512;
constexpr int kDispatchOff = 0, kDispatchOn = 1;  // of prctl; older headers lack them
constexpr int kSetDispatch = 59;
volatile char selector = kDispatchOff;           // the kernel reads it at each system call
std::array<volatile long, kNumbers> calls_of{};  // by number

}  // namespace

extern "C" {
extern const char short_path_begin[], short_path_end[];
void short_path_return();
long short_path_call(long number, const greg_t* arguments);
}

// What the handler needs of the kernel is called from here, which is not handed to it again.
asm(R"(
  .text
  .globl short_path_begin, short_path_return, short_path_call, short_path_end
  .type short_path_return, @function
  .type short_path_call, @function
short_path_begin:
  nop
short_path_return:
  mov $15, %eax
  syscall
short_path_call:
  mov %rdi, %rax
  mov %rsi, %r11
  mov 0(%r11), %rdi
  mov 8(%r11), %rsi
  mov 16(%r11), %rdx
  mov 24(%r11), %r10
  mov 32(%r11), %r8
  mov 40(%r11), %r9
  syscall
  ret
short_path_end:
  nop
)");

namespace {

// Counts the call that is due, performs it, and returns behind it.
void on_system_call(int, siginfo_t* info, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const long number = info->si_syscall;
  calls_of[std::clamp(number, 0L, kNumbers - 1L)] = calls_of[std::clamp(number, 0L, kNumbers - 1L)] + 1;
  const greg_t arguments[] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                              registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  registers[REG_RAX] = short_path_call(number, arguments);
}

// False: this kernel does not do that.
bool have_system_calls_handed_over() {
  // As the kernel takes it, for a way back of our own: that of libc would be handed over as well.
  struct {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } action = {on_system_call, SA_SIGINFO | 0x04000000 /* SA_RESTORER */, short_path_return, 0};
  CHECK(syscall(SYS_rt_sigaction, SIGSYS, &action, nullptr, sizeof action.mask) == 0);
  return prctl(kSetDispatch, 1L, short_path_begin, short_path_end - short_path_begin, &selector) == 0;
}

long system_calls() {
  long all = 0;
  for (const auto& of_one : calls_of) all += of_one;
  return all;
}

// What a stretch of the program has done; stretches add up.
struct Counted {
  long allocations = 0, system_calls = 0;
};
template <class Stretch>
void count(Counted& counted, Stretch&& stretch) {
  const long allocations_before = allocations, calls_before = system_calls();
  selector = kDispatchOn;
  stretch();
  selector = kDispatchOff;
  counted.allocations += allocations - allocations_before;
  counted.system_calls += system_calls() - calls_before;
}

// The counting works: what is known to make some is seen to.
void counts_something() {
  Counted counted;
  count(counted, [] {
    void* volatile block = std::malloc(100);
    std::free(block);
    delete new std::string(100, 'x');
    getppid();
  });
  CHECK(counted.allocations >= 3);
  CHECK_EQ(counted.system_calls, 1);
  CHECK_EQ(calls_of[SYS_getppid], 1);
  calls_of[SYS_getppid] = 0;
}

// ---- messages

constexpr int kRoundsOfBatch = 100, kWindowsOfBatch = 4, kWindow = 64;
using Requests = std::array<MPI_Request, kWindow>;
using Values = std::array<int64_t, kWindow>;

// One rank sends, the other one answers; `sends` is of the calls that send alone.
void ping_pongs(int rank, Counted& all, Counted& sends) {
  for (int i = 0; i < kRoundsOfBatch; ++i) {
    int64_t sent = i * 3 + 1, got = -1;
    const auto send = [&] { OK(MPI_Send(&sent, 1, MPI_INT64_T, 1 - rank, 1, MPI_COMM_WORLD)); };
    const auto receive = [&] { OK(MPI_Recv(&got, 1, MPI_INT64_T, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); };
    if (rank == 1) count(all, receive);
    count(sends, send);
    if (rank == 0) count(all, receive);
    CHECK_EQ_IN(got, sent, "round %d", i);
  }
}

void windows(int rank, int sender, Counted& all, Counted& sends) {
  Requests requests;
  Values values;
  for (int i = 0; i < kWindowsOfBatch; ++i) {
    for (int k = 0; k < kWindow; ++k) values[k] = rank == sender ? i * kWindow + k : -1;
    const auto start = [&] {
      for (int k = 0; k < kWindow; ++k)
        if (rank == sender)
          OK(MPI_Isend(&values[k], 1, MPI_INT64_T, 1 - rank, 2, MPI_COMM_WORLD, &requests[k]));
        else
          OK(MPI_Irecv(&values[k], 1, MPI_INT64_T, 1 - rank, 2, MPI_COMM_WORLD, &requests[k]));
    };
    const auto finish = [&] { OK(MPI_Waitall(kWindow, requests.data(), MPI_STATUSES_IGNORE)); };
    const auto answer = [&] { OK(MPI_Send(nullptr, 0, MPI_BYTE, sender, 3, MPI_COMM_WORLD)); };
    const auto hear = [&] { OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1 - sender, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); };
    count(rank == sender ? sends : all, start);
    count(all, finish);
    if (rank == sender)
      count(all, hear);
    else
      count(sends, answer);
    for (int k = 0; k < kWindow; ++k) CHECK_EQ_IN(values[k], i * kWindow + k, "window %d", i);
  }
}

// What is allocated once: for as many messages as a window has that come before their receives (as
// one behind them has been received), for as many receives that are posted before, and for as many
// that find their messages where the sender put them. These messages must come while this rank is
// away for a moment only; that is tried so often that it was so at least once.
void make_provision(int rank) {
  constexpr int kLast = 4;
  const int peer = 1 - rank;
  Requests receives, sends;
  Values values = {}, sent = {};
  int ignored = 0;
  const auto post = [&](int tag) {
    for (int k = 0; k < kWindow; ++k)
      OK(MPI_Irecv(&values[k], 1, MPI_INT64_T, peer, tag, MPI_COMM_WORLD, &receives[k]));
  };
  const auto send = [&](int tag) {
    for (int k = 0; k < kWindow; ++k) OK(MPI_Isend(&sent[k], 1, MPI_INT64_T, peer, tag, MPI_COMM_WORLD, &sends[k]));
  };
  const auto finish = [&] {
    OK(MPI_Waitall(kWindow, receives.data(), MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(kWindow, sends.data(), MPI_STATUSES_IGNORE));
  };
  for (const int tag : {1, 2, 3}) {
    send(tag);
    OK(MPI_Sendrecv(&tag, 1, MPI_INT, peer, kLast, &ignored, 1, MPI_INT, peer, kLast, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    post(tag);
    finish();
    post(tag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    send(tag);
    finish();
    for (int i = 0; i < 20; ++i) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      send(tag);
      for (const double end = check::seconds() + 200e-6; check::seconds() < end;) {
      }
      post(tag);
      finish();
    }
  }
}

// Runs so many batches. No allocation in any of them; system calls in half of them at the most, or
// one of ten.
template <class Batch>
void stays_free(const char* what, int batches, bool spinning, Batch&& batch) {
  Counted all, sends;
  make_provision(check::world_rank);
  for (int i = 0; i < 20; ++i) batch(i, all, sends);
  calls_of = {};
  all = sends = {};
  int with_calls = 0, with_calls_in_sends = 0;
  for (int i = 0; i < batches; ++i) {
    const Counted all_before = all, sends_before = sends;
    batch(i, all, sends);
    with_calls += all.system_calls != all_before.system_calls;
    with_calls_in_sends += sends.system_calls != sends_before.system_calls;
  }
  std::string which;
  for (int i = 0; i < kNumbers; ++i)
    if (calls_of[i] > 0) which += " " + std::to_string(calls_of[i]) + " of number " + std::to_string(i) + ",";
  if (!which.empty())
    std::printf("%s, rank %d: system calls in %d batches of %d, in those that send in %d:%s\n", what, check::world_rank,
                with_calls, batches, with_calls_in_sends, which.c_str());
  CHECK_EQ_IN(sends.allocations, 0, "what sends of %s", what);
  CHECK_EQ_IN(all.allocations, 0, "the rest of %s", what);
  const int bound = spinning ? batches / 10 : batches / 2;
  if (with_calls > bound || with_calls_in_sends > bound)
    check::fail(__FILE__, __LINE__,
                std::string(what) + ": more than " + std::to_string(bound) + " of " + std::to_string(batches) +
                    " batches make system calls:" + which);
  if (spinning) {
    CHECK_EQ_IN(calls_of[SYS_sched_yield], 0, "%s, told to spin", what);
    CHECK_EQ_IN(calls_of[SYS_poll], 0, "%s, told to spin", what);
  }
}

// Each rank keeps the other one waiting until it sleeps: what it sleeps on and is woken by is made then, once.
void sleep_once(int rank) {
  for (int late = 0; late < 2; ++late) {
    if (rank == late) usleep(100'000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// Each rank has a processor that the other one does not have to leave to it.
bool a_core_each() {
  cpu_set_t mine;
  std::array<cpu_set_t, 2> both;
  CPU_ZERO(&mine);
  CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
  OK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, both.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
  cpu_set_t any;
  CPU_OR(&any, &both[0], &both[1]);
  return CPU_COUNT(&any) >= 2;
}

int run(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const int rank = world.rank();
  const bool spinning = argc > 1 && std::strcmp(argv[1], "spinning") == 0;
  CHECK_EQ(world.size(), 2);
  if (!a_core_each()) {
    if (rank == 0) std::puts("skipped: two ranks need two processors");
    return kSkipped;
  }
  const int mine = have_system_calls_handed_over();
  int both = 0;
  OK(MPI_Allreduce(&mine, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (!both) {
    if (rank == 0) std::puts("skipped: this kernel hands no system calls over (Linux 5.11 would)");
    return kSkipped;
  }
  counts_something();
  if (!spinning) sleep_once(rank);
  stays_free("ping-pong", 100, spinning, [&](int, Counted& all, Counted& sends) { ping_pongs(rank, all, sends); });
  for (int sender = 0; sender < 2; ++sender)
    stays_free("windows", 50, spinning, [&](int, Counted& all, Counted& sends) { windows(rank, sender, all, sends); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
#endif
