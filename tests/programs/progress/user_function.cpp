// SPDX-License-Identifier: BSD-3-Clause
// Below MPI_THREAD_MULTIPLE a user's reduction function is called by the thread that calls MPI, and
// only while it does: a program that never asked for threads meets none. The collective completes
// all the same, and nothing else waits for it.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

// Long enough for the progress thread, which a sanitizer slows down, on a busy machine.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr useconds_t kAway = 2'000'000;
#else
constexpr useconds_t kAway = 200'000;
#endif

std::thread::id main_thread;
std::atomic<bool> inside{false};  // of a call of MPI
std::atomic<int> strangers{0}, calls{0};

void add(void* in, void* inout, int* length, MPI_Datatype*) {
  ++calls;
  if (std::this_thread::get_id() != main_thread || !inside) ++strangers;
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv, argc > 1 ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE);
  main_thread = std::this_thread::get_id();
  MPI_Op op;
  OK(MPI_Op_create(add, 0, &op));
  for (int count : {1, 1000, 300000}) {
    std::vector<int> in(count, world.rank() + 1), out(count, -1), scanned(count, -1);
    const int all = world.size() * (world.size() + 1) / 2,
              mine = (world.rank() + 1) * (world.rank() + 2) / 2;
    MPI_Request requests[3];
    OK(MPI_Barrier(MPI_COMM_WORLD));
    inside = true;
    OK(MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, op, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Iscan(in.data(), scanned.data(), count, MPI_INT, op, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]));
    inside = false;
    usleep(kAway);  // the progress thread does what it may
    int flag = 0;
    OK(MPI_Request_get_status(requests[2], &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    inside = true;
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    inside = false;
    for (int each : out) CHECK_EQ(each, all);
    for (int each : scanned) CHECK_EQ(each, mine);
  }
  CHECK_EQ(strangers.load(), 0);
  if (world.size() > 1) {
    int most = 0, mine = calls;
    OK(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(most > 0);
  }
  OK(MPI_Op_free(&op));
}
