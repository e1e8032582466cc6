// SPDX-License-Identifier: BSD-3-Clause
// Ranks are killed at random times, amid whatever they do, while all work: a step is an operation, an agreement on
// whether it has gone well everywhere and, if it has not, a shrink. What is agreed on is the same everywhere, the sums are
// right, and in the end those are left who were not to be killed. Arguments: a seed, for how many milliseconds ranks are
// killed, and "stops" for ranks that are stopped meanwhile, again and again for some milliseconds: what they find when
// they go on is a message of one who has failed since, and the news of that. Run with mpirun --on-failure=continue.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "going_on.hpp"

namespace {

using namespace going_on;

unsigned seed = 1;
int rank, size;

bool dies(int who) {
  return who != static_cast<int>(seed % static_cast<unsigned>(size)) &&
         check::mix(seed, 1, static_cast<unsigned>(who)) % 3 != 0;
}

// Two halves are connected, agree, and become one again.
bool merged(MPI_Comm comm, int length) {
  const int mine = rank_in(comm), members = size_of(comm), upper = members / 2, is_upper = mine >= upper;
  if (members < 2) return true;
  MPI_Comm made[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  auto& [half, between, whole] = made;
  bool well = good(MPI_Comm_split(comm, is_upper, mine, &half), "split");
  well = agreed(comm, well);
  if (well) {
    OK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
    well = agreed(comm, good(MPI_Intercomm_create(half, 0, comm, is_upper ? 0 : upper, 9, &between), "connecting"));
  }
  if (well) {
    int flag = is_upper ? 6 : 3;
    if (good(MPIX_Comm_agree(between, &flag), "agree between two groups")) CHECK_EQ(flag, is_upper ? 3 : 6);
    well = agreed(comm, good(MPI_Intercomm_merge(between, is_upper, &whole), "merge"));
  }
  well = well && allreduce(whole, length);
  for (MPI_Comm& each : made)
    if (each != MPI_COMM_NULL) OK(MPI_Comm_free(&each));
  return well;
}

bool (*const kOperations[])(MPI_Comm, int) = {allreduce, bcast, ring, nonblocking, communicators, everybody, merged};
constexpr int kLengths[] = {1, 100, 5000, 100'000, 1'000'000};

// Stops all other ranks but its own, in which alone it does anything, and lets them go on when it is destroyed.
class Stops {
 public:
  explicit Stops(int its_rank) {
    constexpr int kTag = 4712;
    const int mine = ::getpid();
    if (rank != its_rank) {
      OK(MPI_Send(&mine, 1, MPI_INT, its_rank, kTag, MPI_COMM_WORLD));
      return;
    }
    pids_.resize(static_cast<size_t>(size), mine);
    for (int r = 0; r < size; ++r)
      if (r != rank)
        OK(MPI_Recv(&pids_[static_cast<size_t>(r)], 1, MPI_INT, r, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    thread_ = std::thread([this] { run(); });
  }
  ~Stops() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() const {
    for (unsigned i = 0; !done_; ++i) {
      const unsigned chance = check::mix(seed, 4, i);
      const size_t who = chance % pids_.size();
      if (static_cast<int>(who) == rank) continue;
      ::kill(pids_[who], SIGSTOP);
      ::usleep(1000 + chance / 8 % 7000);
      ::kill(pids_[who], SIGCONT);
      ::usleep(chance / 64 % 2000);
    }
  }
  std::vector<int> pids_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) seed = static_cast<unsigned>(std::atoi(argv[1]));
  const int spell = argc > 2 ? std::atoi(argv[2]) : 300;
  int level = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check::world_rank = rank;
  int left = 0, members = 0;
  for (int r = 0; r < size; ++r) left += !dies(r);
  std::optional<Stops> stops;
  if (argc > 3 && argv[3] == std::string("stops")) stops.emplace(static_cast<int>(seed % static_cast<unsigned>(size)));
  if (dies(rank))
    std::thread([spell] {
      ::usleep(1000 * (check::mix(seed, 2, static_cast<unsigned>(rank)) % static_cast<unsigned>(spell)));
      ::kill(::getpid(), SIGKILL);
    }).detach();
  MPI_Comm comm;
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm));  // some may be gone already
  OK(MPI_Comm_size(comm, &members));
  int more = 30;
  for (int step = 0; members > left || more-- > 0; ++step) {
    const unsigned chance = check::mix(seed, 3, static_cast<unsigned>(step));
    const bool well = kOperations[chance % std::size(kOperations)](comm, kLengths[chance / 8 % std::size(kLengths)]);
    if (agreed(comm, well)) continue;
    int latest = step;
    comm = without_failed(comm, step, &latest);
    step = latest;
    OK(MPI_Comm_size(comm, &members));
    CHECK(members >= left);
  }
  CHECK_EQ(members, left);
  stops.reset();
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  if (rank == static_cast<int>(seed % static_cast<unsigned>(size))) std::puts("ok");
}
