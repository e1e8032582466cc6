// SPDX-License-Identifier: BSD-3-Clause
// A rank that does nothing but calls that are over at once still answers others: each kind of such a loop goes on
// until another rank's operations at its memory are complete. Judged by the order of events (board.hpp), also
// without a progress thread.
#include <array>
#include <functional>

#include "board.hpp"

namespace {

// What rank 0 calls over and over again; what the last rank does meanwhile, where there are three, until rank 0 has
// made a last call.
struct Loop {
  const char* name;
  std::function<void()> call;
  std::function<void()> last_call = {}, meanwhile = {};
};

// Memory that others reach by messages alone.
class Served {
 public:
  Served() {
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_attach(win, &counter, sizeof counter));
    OK(MPI_Get_address(&counter, &address));
    OK(MPI_Bcast(&address, 1, MPI_AINT, 0, MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
  }
  ~Served() {
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_detach(win, &counter));
    OK(MPI_Win_free(&win));
  }
  void count(int times) {
    const int64_t one = 1;
    for (int i = 0; i < times; ++i) {
      int64_t before = -1;
      OK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, address, MPI_SUM, win));
      OK(MPI_Win_flush(0, win));
      CHECK(before >= 0);
    }
  }
  int64_t counter = 0;
  MPI_Aint address = 0;
  MPI_Win win = MPI_WIN_NULL;
};

void serve(const check::Program& world, check::Board& board, Served& served, const Loop& loop) {
  constexpr int kTimes = 20;
  const int served_all = board.next_event();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) {
    const double end = check::seconds() + check::kForEver;
    while (!board.told(served_all, 1)) {
      loop.call();
      if (check::seconds() > end)
        check::fail(__FILE__, __LINE__, std::string("another rank was not answered in a loop over ") + loop.name);
    }
    if (loop.last_call) loop.last_call();
  } else if (world.rank() == 1) {
    served.count(kTimes);
    board.tell(served_all);
  } else if (world.rank() == world.size() - 1 && loop.meanwhile) {
    loop.meanwhile();
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  check::Board board(world);
  Served served;
  int64_t* memory = nullptr;
  MPI_Win direct, separate;
  std::array<int64_t, 4> own{};
  OK(MPI_Win_allocate(sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &direct));
  OK(MPI_Win_create(own.data(), sizeof own, sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_SELF, &separate));
  OK(MPI_Win_lock_all(0, direct));
  const int last = world.size() - 1;
  int64_t one = 1, compare = 0, result = 0;
  std::vector<Loop> loops = {
      {"MPI_Compare_and_swap and MPI_Win_flush at itself",
       [&] {
         OK(MPI_Compare_and_swap(&one, &compare, &result, MPI_INT64_T, 0, 0, direct));
         OK(MPI_Win_flush(0, direct));
       }},
      {"MPI_Fetch_and_op and MPI_Win_flush at another rank",
       [&] {
         OK(MPI_Fetch_and_op(&one, &result, MPI_INT64_T, last, 0, MPI_SUM, direct));
         OK(MPI_Win_flush(last, direct));
       }},
      {"MPI_Get and MPI_Win_flush_local",
       [&] {
         OK(MPI_Get(&result, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, direct));
         OK(MPI_Win_flush_local_all(direct));
       }},
      {"MPI_Rget and MPI_Wait",
       [&] {
         MPI_Request request;
         OK(MPI_Rget(&result, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, direct, &request));
         OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
       }},
      {"MPI_Win_sync", [&] { OK(MPI_Win_sync(direct)); }},
      {"MPI_Win_lock and MPI_Win_unlock",
       [&] {
         OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, separate));
         OK(MPI_Win_unlock(0, separate));
       }},
      {"MPI_Win_fence of itself", [&] { OK(MPI_Win_fence(0, separate)); }},
      {"MPI_Sendrecv with itself",
       [&] {
         OK(MPI_Sendrecv(&one, 1, MPI_INT64_T, 0, 0, &result, 1, MPI_INT64_T, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
       }},
      {"MPI_Isend to itself, MPI_Recv and MPI_Wait",
       [&] {
         MPI_Request request;
         OK(MPI_Isend(&one, 1, MPI_INT64_T, 0, 0, MPI_COMM_SELF, &request));
         OK(MPI_Recv(&result, 1, MPI_INT64_T, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
         OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
       }},
      {"MPI_Barrier of itself", [&] { OK(MPI_Barrier(MPI_COMM_SELF)); }},
      {"MPI_Iallreduce of itself and MPI_Waitall",
       [&] {
         MPI_Request request;
         OK(MPI_Iallreduce(&one, &result, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_SELF, &request));
         OK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
       }},
      {"MPI_Test of MPI_REQUEST_NULL",
       [&] {
         int flag = 0;
         MPI_Request request = MPI_REQUEST_NULL;
         OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
       }},
      {"MPI_Iprobe",
       [&] {
         int flag = 0;
         OK(MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
       }},
  };
  if (world.size() > 2)
    loops.push_back({"MPI_Send", [&] { OK(MPI_Send(&one, 1, MPI_INT64_T, last, 0, MPI_COMM_WORLD)); },
                     [&] { OK(MPI_Send(&one, 1, MPI_INT64_T, last, 1, MPI_COMM_WORLD)); },
                     [&] {
                       MPI_Status status{};
                       while (status.MPI_TAG != 1)
                         OK(MPI_Recv(&result, 1, MPI_INT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
                     }});
  for (const Loop& loop : loops) serve(world, board, served, loop);
  OK(MPI_Win_unlock_all(direct));
  OK(MPI_Win_free(&direct));
  OK(MPI_Win_free(&separate));
}
