// SPDX-License-Identifier: BSD-3-Clause
// A rank of a job that goes on without it kills itself, in each of the situations that its first argument names, and the
// others go on: what waits for it has an error, revoking reaches all, those who live agree and shrink, and the shrunk
// communicator works. Run with mpirun --on-failure=continue.
#include "check.hpp"
#include "dying.hpp"

namespace {

int rank, size;

int victim() {
  return size - 1;
}
int class_of(int code) {
  return check::error_class(code);
}

// Those who live make a communicator of themselves, and use it.
MPI_Comm shrunk(MPI_Comm comm, int expected) {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(comm, &made));
  int members = 0, sum = 0, one = 1;
  OK(MPI_Comm_size(made, &members));
  CHECK_EQ(members, expected);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
  CHECK_EQ(sum, expected);
  return made;
}

void agree(MPI_Comm comm, bool acknowledged) {
  int flag = rank == 0 ? 6 : 7;
  const int code = MPIX_Comm_agree(comm, &flag);
  CHECK_EQ(class_of(code), acknowledged ? int{MPI_SUCCESS} : int{MPIX_ERR_PROC_FAILED});
  CHECK_EQ(flag, 6);
  MPI_Group failed;
  OK(MPIX_Comm_get_failed(comm, &failed));
  int count = 0;
  OK(MPI_Group_size(failed, &count));
  CHECK_EQ(count, 1);
  OK(MPI_Group_free(&failed));
}

// Of each way to wait for the victim.
void receives(MPI_Comm comm) {
  int value = 0;
  dying::fails(comm, victim());
  FAILS(MPI_Recv(&value, 1, MPI_INT, victim(), 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Recv(&value, 1, MPI_INT, victim(), 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Probe(victim(), 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  MPI_Request request;
  OK(MPI_Irecv(&value, 1, MPI_INT, victim(), 2, comm, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  CHECK(request == MPI_REQUEST_NULL);
}

void sends(MPI_Comm comm) {
  std::vector<char> data(8 << 20);
  if (rank == victim()) {
    MPI_Recv(data.data(), 1, MPI_CHAR, 0, 5, comm, MPI_STATUS_IGNORE);
  }
  if (rank == 0) OK(MPI_Send(data.data(), 1, MPI_CHAR, victim(), 5, comm));
  dying::fails(comm, victim());
  FAILS(MPI_Ssend(data.data(), static_cast<int>(data.size()), MPI_CHAR, victim(), 1, comm), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Ssend(data.data(), 1, MPI_CHAR, victim(), 1, comm), MPIX_ERR_PROC_FAILED);
}

void anybody(MPI_Comm comm) {
  int value = 0, other = 0;
  dying::fails(comm, victim());
  MPI_Request request;
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
  CHECK(request != MPI_REQUEST_NULL);
  int flag = 1, acknowledged = 0;
  FAILS(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
  FAILS(MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 4, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  agree(comm, false);  // until all have seen that nobody sends
  OK(MPIX_Comm_ack_failed(comm, size, &acknowledged));
  CHECK_EQ(acknowledged, 1);
  const int to = (rank + 1) % (size - 1), from = (rank + size - 2) % (size - 1);
  OK(MPI_Send(&rank, 1, MPI_INT, to, 3, comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(value, from);
  agree(comm, true);
}

// Not all ranks need hear of it by the first one.
void collectives(MPI_Comm comm) {
  dying::fails(comm, victim());
  int code = MPI_SUCCESS;
  std::vector<int> data(1 << 16, rank), sums(1 << 16);
  while (code == MPI_SUCCESS)
    code = MPI_Allreduce(data.data(), sums.data(), static_cast<int>(data.size()), MPI_INT, MPI_SUM, comm);
  CHECK_EQ(class_of(code), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
  MPI_Comm made = MPI_COMM_NULL;
  FAILS(MPI_Comm_dup(comm, &made), MPIX_ERR_PROC_FAILED);
}

// It fails in calls of one form behind others of another form, which may have left what they used. The buffers are others
// each time: what is called again as before is kept apart.
void forms(MPI_Comm comm) {
  constexpr int kCounts[] = {1, 1 << 16}, kRounds = 10;
  std::vector<int> data((1 << 16) + kRounds, rank), sums[2] = {data, data};
  MPI_Request requests[2];
  const auto begin = [&](int round) {
    for (int i = 0; i < 2; ++i)
      OK(MPI_Iallreduce(data.data() + round, sums[i].data() + round, kCounts[i], MPI_INT, MPI_SUM, comm, &requests[i]));
  };
  for (int round = 0; round < kRounds; ++round) {
    begin(round);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2; ++i)
      OK(MPI_Allreduce(data.data() + round, sums[i].data() + round, kCounts[i], MPI_INT, MPI_SUM, comm));
  }
  if (rank != victim()) begin(0);
  dying::fails(comm, victim());
  for (MPI_Request& each : requests) FAILS(MPI_Wait(&each, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
}

// One hears of the failure and revokes; the others wait for each other.
void revocation(MPI_Comm comm) {
  dying::fails(comm, victim());
  int value = 0;
  if (rank == 0) {
    FAILS(MPI_Recv(&value, 1, MPI_INT, victim(), 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    OK(MPIX_Comm_revoke(comm));
  } else {
    FAILS(MPI_Recv(&value, 1, MPI_INT, (rank + 1) % (size - 1), 7, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  }
  int revoked = 0;
  OK(MPIX_Comm_is_revoked(comm, &revoked));
  CHECK_EQ(revoked, 1);
  FAILS(MPI_Send(&value, 1, MPI_INT, 0, 7, comm), MPIX_ERR_REVOKED);
  FAILS(MPI_Barrier(comm), MPIX_ERR_REVOKED);
}

// The coordinator of agreements among others fails at once.
void first_fails(MPI_Comm comm) {
  dying::fails(comm, 0);
  int flag = 3;
  FAILS(MPIX_Comm_agree(comm, &flag), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(flag, 3);
}

// Two fail one after the other, with a shrink between.
void twice(MPI_Comm comm) {
  dying::fails(comm, victim());
  MPI_Comm made = shrunk(comm, size - 1);
  if (size > 2) {
    dying::fails(made, 0);
    MPI_Comm again = shrunk(made, size - 2);
    OK(MPI_Comm_free(&again));
  }
  OK(MPI_Comm_free(&made));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check::world_rank = rank;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  const struct {
    const char* name;
    void (*run)(MPI_Comm);
  } situations[] = {{"receives", receives},       {"sends", sends}, {"anybody", anybody},
                    {"collectives", collectives}, {"forms", forms}, {"revocation", revocation},
                    {"first_fails", first_fails}};
  if (what == "twice") {
    twice(comm);
  } else {
    for (const auto& [name, run] : situations)
      if (what == name) run(comm);
    MPI_Comm made = shrunk(comm, size - 1);
    OK(MPI_Comm_free(&made));
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  std::puts("ok");
}
