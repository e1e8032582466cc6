// SPDX-License-Identifier: BSD-3-Clause
// Ranks are killed at random times, amid whatever they do, while all work: a step is an operation, an agreement on
// whether it has gone well everywhere and, if it has not, a shrink. What is agreed on is the same everywhere, the sums are
// right, and in the end those are left who were not to be killed. Arguments: a seed, for how many milliseconds ranks are
// killed, and "stops" for ranks that are stopped meanwhile, again and again for some milliseconds: what they find when
// they go on is a message of one who has failed since, and the news of that. Run with mpirun --on-failure=continue.
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "check.hpp"

namespace {

unsigned seed = 1;
int rank, size;

bool dies(int who) {
  return who != static_cast<int>(seed % static_cast<unsigned>(size)) &&
         check::mix(seed, 1, static_cast<unsigned>(who)) % 3 != 0;
}

bool is_of_survival(int code) {
  const int its_class = check::error_class(code);
  return its_class == MPIX_ERR_PROC_FAILED || its_class == MPIX_ERR_REVOKED ||
         its_class == MPIX_ERR_PROC_FAILED_PENDING;
}

// True: it has gone well here.
bool good(int code, const char* what) {
  if (code == MPI_SUCCESS) return true;
  if (!is_of_survival(code)) check::fail(__FILE__, __LINE__, std::string(what) + ": " + check::error_text(code));
  return false;
}

bool allreduce(MPI_Comm comm, int length) {
  int members = 0;
  OK(MPI_Comm_size(comm, &members));
  std::vector<int> ones(static_cast<size_t>(length), 1), sums(static_cast<size_t>(length));
  if (!good(MPI_Allreduce(ones.data(), sums.data(), length, MPI_INT, MPI_SUM, comm), "allreduce")) return false;
  for (const int sum : sums) CHECK_EQ(sum, members);
  return true;
}

bool bcast(MPI_Comm comm, int length) {
  int mine = 0;
  OK(MPI_Comm_rank(comm, &mine));
  std::vector<int> data(static_cast<size_t>(length), mine == 0 ? 7 : 0);
  if (!good(MPI_Bcast(data.data(), length, MPI_INT, 0, comm), "bcast")) return false;
  for (const int each : data) CHECK_EQ(each, 7);
  return true;
}

// Each to the next one, in messages of all lengths.
bool ring(MPI_Comm comm, int length) {
  int mine = 0, members = 0;
  OK(MPI_Comm_rank(comm, &mine));
  OK(MPI_Comm_size(comm, &members));
  const int to = (mine + 1) % members, from = (mine + members - 1) % members;
  std::vector<int> out(static_cast<size_t>(length), mine), in(static_cast<size_t>(length), -1);
  MPI_Request requests[2];
  const bool begun = good(MPI_Irecv(in.data(), length, MPI_INT, from, 1, comm, &requests[0]), "irecv") &
                     good(MPI_Isend(out.data(), length, MPI_INT, to, 1, comm, &requests[1]), "isend");
  if (!begun) {
    // Revoked between the two, or before both: what has begun ends with the revocation.
    for (MPI_Request& each : requests)
      if (each != MPI_REQUEST_NULL) good(MPI_Wait(&each, MPI_STATUS_IGNORE), "wait");
    return false;
  }
  bool well = true;
  MPI_Status statuses[2];
  for (int i = 0; i < 2; ++i) well &= good(MPI_Wait(&requests[i], &statuses[i]), "wait");
  if (well)
    for (const int each : in) CHECK_EQ(each, from);
  return well;
}

bool nonblocking(MPI_Comm comm, int length) {
  int members = 0;
  OK(MPI_Comm_size(comm, &members));
  std::vector<int> ones(static_cast<size_t>(length), 1), sums(static_cast<size_t>(length));
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  bool well =
      good(MPI_Iallreduce(ones.data(), sums.data(), length, MPI_INT, MPI_SUM, comm, &requests[0]), "iallreduce");
  well = well && good(MPI_Ibarrier(comm, &requests[1]), "ibarrier");
  for (MPI_Request& each : requests)
    if (each != MPI_REQUEST_NULL) well &= good(MPI_Wait(&each, MPI_STATUS_IGNORE), "wait of collectives");
  if (well)
    for (const int sum : sums) CHECK_EQ(sum, members);
  return well;
}

// True: it has gone well everywhere, and all say the same.
bool agreed(MPI_Comm comm, bool well) {
  int flag = well;
  const int code = MPIX_Comm_agree(comm, &flag);
  if (check::error_class(code) == MPIX_ERR_REVOKED) check::fail(__FILE__, __LINE__, "an agreement was revoked");
  return good(code, "agree") && flag;
}

bool communicators(MPI_Comm comm, int) {
  MPI_Comm made = MPI_COMM_NULL;
  int mine = 0;
  OK(MPI_Comm_rank(comm, &mine));
  const bool is_made = good(MPI_Comm_split(comm, mine % 2, mine, &made), "split");
  // Where one rank has an error others may have the communicator, and would wait in it for that one, who lives.
  if (!agreed(comm, is_made)) {
    if (is_made) OK(MPI_Comm_free(&made));
    return false;
  }
  int half = 0, sum = 0, one = 1;
  OK(MPI_Comm_size(made, &half));
  const bool well = good(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made), "allreduce of a half");
  if (well) CHECK_EQ(sum, half);
  OK(MPI_Comm_free(&made));
  return well;
}

bool everybody(MPI_Comm comm, int length) {
  int mine = 0, members = 0;
  OK(MPI_Comm_rank(comm, &mine));
  OK(MPI_Comm_size(comm, &members));
  length = std::max(1, length / 16);
  std::vector<int> out(static_cast<size_t>(length * members), mine), in(static_cast<size_t>(length * members), -1);
  if (!good(MPI_Alltoall(out.data(), length, MPI_INT, in.data(), length, MPI_INT, comm), "alltoall")) return false;
  for (int i = 0; i < length * members; ++i) CHECK_EQ(in[static_cast<size_t>(i)], i / length);
  return true;
}

bool (*const kOperations[])(MPI_Comm, int) = {allreduce, bcast, ring, nonblocking, communicators, everybody};
constexpr int kLengths[] = {1, 100, 5000, 100'000, 1'000'000};

// Until all of the new communicator say that they have it.
MPI_Comm without_failed(MPI_Comm comm, int step, int* latest) {
  OK(MPIX_Comm_revoke(comm));
  for (;;) {
    MPI_Comm made = MPI_COMM_NULL;
    OK(MPIX_Comm_shrink(comm, &made));
    OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    OK(MPI_Comm_free(&comm));
    comm = made;
    if (agreed(comm, good(MPI_Allreduce(&step, latest, 1, MPI_INT, MPI_MAX, comm), "steps"))) return comm;
    OK(MPIX_Comm_revoke(comm));
  }
}

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
