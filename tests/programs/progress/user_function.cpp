// SPDX-License-Identifier: BSD-3-Clause
// Below MPI_THREAD_MULTIPLE a user's reduction function is called by the thread that calls MPI, and
// only while it does: a program that never asked for threads meets none. The collective completes
// all the same, and nothing else waits for it.
#include "board.hpp"

namespace {

constexpr useconds_t kTempting = 100'000;  // the progress thread could do what it must not

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
  check::Board board(world);
  main_thread = std::this_thread::get_id();
  MPI_Op op;
  OK(MPI_Op_create(add, 0, &op));
  for (int count : {1, 1000, 300000}) {
    std::vector<int> in(count, world.rank() + 1), out(count, -1), scanned(count, -1);
    const int all = world.size() * (world.size() + 1) / 2, mine = (world.rank() + 1) * (world.rank() + 2) / 2;
    MPI_Request requests[3];
    OK(MPI_Barrier(MPI_COMM_WORLD));
    inside = true;
    OK(MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, op, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Iscan(in.data(), scanned.data(), count, MPI_INT, op, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]));
    inside = false;
    usleep(kTempting);
    // The barrier behind the two is done while all but one are away.
    const int done = board.next_event(), last = world.size() - 1;
    if (world.rank() == last) {
      inside = true;
      OK(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
      inside = false;
      board.tell(done);
    } else {
      board.away_until(check::Outside::sleeping, done, last, "a barrier", __FILE__, __LINE__);
    }
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
