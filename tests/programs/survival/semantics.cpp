// SPDX-License-Identifier: BSD-3-Clause
// What a program may take for granted of the calls that go on after failures, beyond that nothing waits for ever: which entries of
// several requests have which error, what stays pending until it is acknowledged, also in part and again, what agreements and
// shrinks between two groups and behind requests give, and what a shrunk communicator has of the one that it is made of. One
// argument names the situation. Run with mpirun --on-failure=continue, on 4 ranks or more.
#include <string_view>
#include <vector>

#include "check.hpp"
#include "dying.hpp"

namespace {

int rank, size;

int class_of(int code) {
  return check::error_class(code);
}

int failed_of(MPI_Comm comm) {
  MPI_Group failed;
  int count = 0;
  OK(MPIX_Comm_get_failed(comm, &failed));
  OK(MPI_Group_size(failed, &count));
  if (failed != MPI_GROUP_EMPTY) OK(MPI_Group_free(&failed));
  return count;
}

void await_failures(MPI_Comm comm, int count) {
  int flag = 0;
  while (failed_of(comm) < count) OK(MPI_Iprobe(0, 999, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
}

// A request of one who has failed is the one that ends; the others of the list go on.
void lists(MPI_Comm comm) {
  const int victim = size - 1, left = size - 1;
  const int to = (rank + 1) % left, from = (rank + left - 1) % left;
  int out = rank, in[3] = {-1, -1, -1}, index = -1, flag = 1, count = 0;
  int indices[2];
  MPI_Status statuses[2];
  dying::fails(comm, victim);
  FAILS(MPI_Sendrecv(&out, 1, MPI_INT, from, 1, &in[0], 1, MPI_INT, victim, 1, comm, MPI_STATUS_IGNORE),
        MPIX_ERR_PROC_FAILED);
  OK(MPI_Recv(&in[0], 1, MPI_INT, to, 1, comm, MPI_STATUS_IGNORE));  // what it has sent has left all the same
  CHECK_EQ(in[0], to);
  const auto begin = [&](MPI_Request* requests) {
    OK(MPI_Irecv(&in[0], 1, MPI_INT, from, 2, comm, &requests[0]));
    OK(MPI_Irecv(&in[1], 1, MPI_INT, victim, 2, comm, &requests[1]));
  };
  const auto send = [&] {
    int asked = 0;  // nobody sends before it is asked to
    OK(MPI_Sendrecv(&out, 1, MPI_INT, from, 3, &asked, 1, MPI_INT, to, 3, comm, MPI_STATUS_IGNORE));
    OK(MPI_Send(&out, 1, MPI_INT, to, 2, comm));
  };
  const auto complete = [&](MPI_Request* requests) {
    CHECK(requests[1] == MPI_REQUEST_NULL);
    CHECK(requests[0] != MPI_REQUEST_NULL);
    send();
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_EQ(in[0], from);
  };
  MPI_Request requests[2];
  begin(requests);
  FAILS(MPI_Waitany(2, requests, &index, &statuses[0]), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(index, 1);
  complete(requests);
  begin(requests);
  FAILS(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
  CHECK_EQ(count, 1);
  CHECK_EQ(indices[0], 1);
  CHECK_EQ(class_of(statuses[0].MPI_ERROR), int{MPIX_ERR_PROC_FAILED});
  complete(requests);
  // These two wait for all, those who live among them.
  for (const bool waits : {true, false}) {
    begin(requests);
    OK(MPI_Testall(2, requests, &flag, statuses));
    CHECK(!flag);
    send();
    int code = waits ? MPI_Waitall(2, requests, statuses) : MPI_SUCCESS;
    while (code == MPI_SUCCESS) code = MPI_Testall(2, requests, &flag, statuses);
    CHECK_EQ(class_of(code), int{MPI_ERR_IN_STATUS});
    CHECK_EQ(class_of(statuses[0].MPI_ERROR), int{MPI_SUCCESS});
    CHECK_EQ(class_of(statuses[1].MPI_ERROR), int{MPIX_ERR_PROC_FAILED});
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  }
}

// A receive from anybody stays until the failure is acknowledged, and again behind the next failure.
void anybody(MPI_Comm comm) {
  int in = -1, out = rank, flag = 0, acknowledged = -1;
  MPI_Status status;
  MPI_Request request;
  OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request));
  for (int death = 1; death <= 2; ++death) {
    const int victim = size - death;
    if (rank == victim) {
      int word = 0;
      for (int i = 0; i < victim; ++i) OK(MPI_Recv(&word, 1, MPI_INT, i, 4, comm, MPI_STATUS_IGNORE));
      ::raise(SIGKILL);
    }
    if (rank < victim) OK(MPI_Send(&out, 1, MPI_INT, victim, 4, comm));
    FAILS(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    FAILS(MPI_Recv(&out, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    CHECK_EQ(failed_of(comm), death);
    OK(MPIX_Comm_ack_failed(comm, death - 1, &acknowledged));  // all but the last one
    CHECK_EQ(acknowledged, death - 1);
    FAILS(MPI_Test(&request, &flag, &status), MPIX_ERR_PROC_FAILED_PENDING);
    OK(MPIX_Comm_ack_failed(comm, 100, &acknowledged));
    CHECK_EQ(acknowledged, death);
    OK(MPI_Test(&request, &flag, &status));
    CHECK(!flag);
    out = rank;
  }
  OK(MPIX_Comm_ack_failed(comm, 0, &acknowledged));  // none is forgotten again
  CHECK_EQ(acknowledged, 2);
  OK(MPIX_Comm_agree(comm, &flag));  // nobody sends before all have asked
  const int left = size - 2;
  OK(MPI_Send(&out, 1, MPI_INT, (rank + 1) % left, 3, comm));
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(in, (rank + left - 1) % left);
  CHECK_EQ(status.MPI_SOURCE, in);
}

// Who hears of the failure by another one's word knows who it is, when the call returns; and who knows of it before gets no
// communicator that has the failed one, also where the words that make it come from those who live.
void makers(MPI_Comm comm) {
  MPI_Group all;
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Comm_group(comm, &all));
  MPI_Request duplication = MPI_REQUEST_NULL;
  if (rank != 0) OK(MPI_Comm_idup(comm, &made, &duplication));
  dying::fails(comm, 0);
  FAILS(MPI_Wait(&duplication, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Comm_create_group(comm, all, 1, &made), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(failed_of(comm), 1);
  FAILS(MPI_Comm_create_from_group(all, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPIX_ERR_PROC_FAILED);
  OK(MPI_Group_free(&all));
  MPI_Comm rest = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(comm, &rest));
  OK(MPI_Comm_group(rest, &all));
  dying::fails(rest, size - 2);
  await_failures(rest, 1);
  FAILS(MPI_Comm_create_group(rest, all, 1, &made), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Comm_create_from_group(all, "again", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPIX_ERR_PROC_FAILED);
  OK(MPI_Group_free(&all));
  OK(MPI_Comm_free(&rest));
}

// Between two groups, of which the second one loses its last rank.
void groups(MPI_Comm comm) {
  const int upper = size / 2, in_upper = rank >= upper;
  MPI_Comm half, between, made, one;
  OK(MPI_Comm_split(comm, in_upper, rank, &half));
  OK(MPI_Intercomm_create(half, 0, comm, in_upper ? 0 : upper, 7, &between));
  OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
  int flag = in_upper ? 0b1100 : 0b1010;
  OK(MPIX_Comm_agree(between, &flag));
  CHECK_EQ(flag, in_upper ? 0b1010 : 0b1100);
  dying::fails(comm, size - 1);
  flag = in_upper ? 0b0110 : 0b0011;
  FAILS(MPIX_Comm_agree(between, &flag), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(flag, in_upper ? 0b0011 : 0b0110);
  CHECK_EQ(failed_of(between), 1);
  OK(MPIX_Comm_failure_ack(between));
  OK(MPIX_Comm_agree(between, &flag));
  if (rank == 0) OK(MPIX_Comm_revoke(between));
  int word = 0, revoked = 0, remote = 0, is_inter = 0, sum = 0;
  FAILS(MPI_Recv(&word, 1, MPI_INT, 0, 9, between, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  OK(MPIX_Comm_is_revoked(between, &revoked));
  CHECK(revoked);
  flag = 1;
  OK(MPIX_Comm_agree(between, &flag));
  OK(MPIX_Comm_shrink(between, &made));
  OK(MPI_Comm_test_inter(made, &is_inter));
  CHECK(is_inter);
  OK(MPI_Comm_remote_size(made, &remote));
  CHECK_EQ(remote, in_upper ? upper : size - 1 - upper);
  OK(MPIX_Comm_is_revoked(made, &revoked));
  CHECK(!revoked);
  OK(MPI_Intercomm_merge(made, in_upper, &one));
  word = 1;
  OK(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, one));
  CHECK_EQ(sum, size - 1);
  for (MPI_Comm* each : {&one, &made, &between, &half}) OK(MPI_Comm_free(each));
}

// Several agreements and shrinks at once, and other requests among them, before and behind a failure.
void requests(MPI_Comm comm) {
  MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  int flags[2] = {rank == 0 ? 5 : 7, rank == 1 ? 3 : 7}, in = -1, out = rank, sum = 0, one = 1;
  MPI_Request all[6];
  OK(MPIX_Comm_iagree(comm, &flags[0], &all[0]));
  OK(MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 6, comm, &all[1]));
  OK(MPIX_Comm_ishrink(comm, &made[0], &all[2]));
  OK(MPIX_Comm_iagree(comm, &flags[1], &all[3]));
  OK(MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 6, comm, &all[4]));
  OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &all[5]));
  OK(MPI_Waitall(6, all, MPI_STATUSES_IGNORE));
  CHECK_EQ(flags[0], 5);
  CHECK_EQ(flags[1], 3);
  CHECK_EQ(in, (rank + size - 1) % size);
  CHECK_EQ(sum, size);
  dying::fails(made[0], size - 1);
  MPI_Status statuses[3];
  OK(MPIX_Comm_ishrink(made[0], &made[1], &all[0]));
  OK(MPIX_Comm_iagree(made[0], &flags[0], &all[1]));
  OK(MPI_Irecv(&in, 1, MPI_INT, size - 1, 8, made[0], &all[2]));
  FAILS(MPI_Waitall(3, all, statuses), MPI_ERR_IN_STATUS);
  CHECK_EQ(class_of(statuses[0].MPI_ERROR), int{MPI_SUCCESS});
  CHECK_EQ(class_of(statuses[2].MPI_ERROR), int{MPIX_ERR_PROC_FAILED});
  int members = 0;
  OK(MPI_Comm_size(made[1], &members));
  CHECK_EQ(members, size - 1);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[1]));
  CHECK_EQ(sum, size - 1);
  for (MPI_Comm* each : {&made[1], &made[0]}) OK(MPI_Comm_free(each));
}

// What is revoked ends partitioned sends, too, which nobody receives: in the first round and in later ones, short and long.
void partitions(MPI_Comm comm) {
  constexpr int kPartitions = 4;
  for (const int count : {1, 100'000})
    for (int rounds : {1, 2}) {
      MPI_Comm one = MPI_COMM_NULL;
      OK(MPI_Comm_dup(comm, &one));
      std::vector<int> data(static_cast<size_t>(kPartitions) * static_cast<size_t>(count), rank);
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank == 0) OK(MPI_Precv_init(data.data(), kPartitions, count, MPI_INT, 1, 1, one, MPI_INFO_NULL, &request));
      if (rank == 1) OK(MPI_Psend_init(data.data(), kPartitions, count, MPI_INT, 0, 1, one, MPI_INFO_NULL, &request));
      for (int round = 1; round <= rounds; ++round) {
        const bool last = round == rounds;
        if (rank == 0 && !last) {
          OK(MPI_Start(&request));
          OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        if (rank == 1) {
          OK(MPI_Start(&request));
          OK(MPI_Pready_range(0, kPartitions - 1, request));
        }
        if (rank == 1 && !last) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
      OK(MPI_Barrier(comm));
      if (rank == 0) OK(MPIX_Comm_revoke(one));
      if (rank == 1) {
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || count > 1) CHECK_EQ(class_of(code), int{MPIX_ERR_REVOKED});
      }
      if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
      OK(MPI_Comm_free(&one));
    }
}

// A partitioned send whose partitions are not all ready ends with the failure of its peer, or the revocation, as does
// each that is started later; making the others ready is then no error. What has another peer goes on.
void missing(MPI_Comm comm) {
  const int victim = size - 1;
  for (const bool is_revoked : {true, false}) {
    const int expected = is_revoked ? MPIX_ERR_REVOKED : MPIX_ERR_PROC_FAILED;
    MPI_Comm one = MPI_COMM_NULL;
    OK(MPI_Comm_dup(comm, &one));
    MPI_Request to_victim = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
    int data[4] = {rank, rank, rank, rank};
    if (rank == 0) OK(MPI_Psend_init(data, 4, 1, MPI_INT, victim, 1, one, MPI_INFO_NULL, &to_victim));
    if (rank == 0) OK(MPI_Psend_init(data, 4, 1, MPI_INT, 1, 1, one, MPI_INFO_NULL, &other));
    if (rank == 1) OK(MPI_Precv_init(data, 4, 1, MPI_INT, 0, 1, one, MPI_INFO_NULL, &other));
    for (MPI_Request* each : {&to_victim, &other})
      if (*each != MPI_REQUEST_NULL) OK(MPI_Start(each));
    if (rank == 0) OK(MPI_Pready(2, to_victim));
    OK(MPI_Barrier(comm));
    if (!is_revoked)
      dying::fails(comm, victim);
    else if (rank == victim)
      OK(MPIX_Comm_revoke(one));
    if (rank == 0) {
      for (int round = 0; round < 3; ++round) {
        if (round > 0) OK(MPI_Start(&to_victim));
        FAILS(MPI_Wait(&to_victim, MPI_STATUS_IGNORE), expected);
        OK(MPI_Pready_range(0, 1, to_victim));
        OK(MPI_Pready(3, to_victim));
        FAILS(MPI_Pready(4, to_victim), MPI_ERR_ARG);
      }
      OK(MPI_Request_free(&to_victim));
    }
    for (int round = 0; round < 2 && rank < 2; ++round) {
      if (round > 0) OK(MPI_Start(&other));
      if (rank == 0) OK(MPI_Pready_range(0, 3, other));
      if (is_revoked)
        FAILS(MPI_Wait(&other, MPI_STATUS_IGNORE), expected);
      else
        OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
      for (const int each : data) CHECK_EQ(each, is_revoked ? rank : 0);
    }
    if (rank < 2) OK(MPI_Request_free(&other));
    OK(MPI_Comm_free(&one));
  }
}

int handled = 0;
void handle(MPI_Comm*, int*, ...) {
  ++handled;
}

// Shrinks of shrunk ones, with the error handler that the first one had; what is not acknowledged stays so.
void again(MPI_Comm comm) {
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(handle, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Errhandler_free(&handler));
  for (int left = size; left > 1; --left) {
    dying::fails(comm, left - 1);
    FAILS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
    CHECK_EQ(handled, size - left + 1);
    MPI_Comm made = MPI_COMM_NULL, dup = MPI_COMM_NULL;
    FAILS(MPI_Comm_dup(comm, &dup), MPIX_ERR_PROC_FAILED);
    handled = size - left + 1;
    OK(MPIX_Comm_shrink(comm, &made));
    int members = 0, mine = -1;
    OK(MPI_Comm_size(made, &members));
    OK(MPI_Comm_rank(made, &mine));
    CHECK_EQ(members, left - 1);
    CHECK_EQ(mine, rank);
    CHECK_EQ(failed_of(made), 0);
    OK(MPI_Comm_free(&comm));
    comm = made;
    OK(MPI_Barrier(comm));
  }
  OK(MPI_Comm_free(&comm));
}

// One of those who spawn fails meanwhile: the others have the new ones, or an error, and can spawn again.
void spawning(MPI_Comm comm, char* program) {
  const int victim = size - 1;
  MPI_Comm between = MPI_COMM_NULL, rest = MPI_COMM_NULL;
  dying::fails(comm, victim);
  FAILS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &between, MPI_ERRCODES_IGNORE),
        MPIX_ERR_PROC_FAILED);
  OK(MPIX_Comm_shrink(comm, &rest));
  char child[] = "child";
  char* arguments[] = {child, nullptr};
  OK(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, rest, &between, MPI_ERRCODES_IGNORE));
  MPI_Comm merged = MPI_COMM_NULL;
  OK(MPI_Intercomm_merge(between, 0, &merged));
  int members = 0;
  OK(MPI_Comm_size(merged, &members));
  CHECK_EQ(members, size);
  OK(MPI_Barrier(merged));
  for (MPI_Comm* each : {&merged, &rest}) OK(MPI_Comm_free(each));
  OK(MPI_Comm_disconnect(&between));
}

// All of the other group count as failed.
void loses_them_all(MPI_Comm between) {
  int word = 0, others = 0, flag = 1;
  OK(MPI_Comm_remote_size(between, &others));
  for (int other = 0; other < others; ++other)
    FAILS(MPI_Recv(&word, 1, MPI_INT, other, 5, between, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Barrier(between), MPIX_ERR_PROC_FAILED);
  FAILS(MPIX_Comm_agree(between, &flag), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(flag, -1);  // of the flags of nobody
  OK(MPIX_Comm_revoke(between));
  OK(MPI_Comm_free(&between));
}

// A spawned job whose root fails is lost to those who have spawned it, and they to it, though its others live. These have
// not said a word yet to most of them, and end right behind: what they said now would be half of a connection then.
void cut_off(MPI_Comm comm, char* program) {
  constexpr int kTimes = 5;
  char cut[] = "cut";
  char* arguments[] = {cut, nullptr};
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm between = MPI_COMM_NULL;
    OK(MPI_Comm_spawn(program, arguments, 3, MPI_INFO_NULL, 0, comm, &between, MPI_ERRCODES_IGNORE));
    OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
    OK(MPI_Send(&i, 1, MPI_INT, 0, 1, between));
    loses_them_all(between);
  }
}
void is_cut_off() {
  MPI_Comm parent = MPI_COMM_NULL;
  OK(MPI_Comm_get_parent(&parent));
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  int others = 0, word = 0;
  OK(MPI_Comm_remote_size(parent, &others));
  for (int i = 0; rank == 0 && i < others; ++i) OK(MPI_Recv(&word, 1, MPI_INT, i, 1, parent, MPI_STATUS_IGNORE));
  dying::fails(MPI_COMM_WORLD, 0);
  loses_them_all(parent);
}

// The end of a program that has done nothing about the failure.
void ends(MPI_Comm comm) {
  MPI_Request request;
  int in = 0;
  OK(MPI_Irecv(&in, 1, MPI_INT, size - 1, 1, comm, &request));
  dying::fails(comm, size - 1);
  await_failures(comm, 1);
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  check::world_rank = rank;
  CHECK(argc > 1);
  const std::string_view what = argv[1];
  if (what == "child") {
    MPI_Comm parent, merged;
    OK(MPI_Comm_get_parent(&parent));
    OK(MPI_Intercomm_merge(parent, 1, &merged));
    OK(MPI_Barrier(merged));
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return 0;
  }
  if (what == "cut") {
    is_cut_off();
    OK(MPI_Finalize());
    return 0;
  }
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  if (what == "lists") lists(comm);
  if (what == "anybody") anybody(comm);
  if (what == "groups") groups(comm);
  if (what == "makers") makers(comm);
  if (what == "requests") requests(comm);
  if (what == "partitions") partitions(comm);
  if (what == "missing") missing(comm);
  if (what == "again") {
    again(comm);
    comm = MPI_COMM_NULL;
  }
  if (what == "spawning") spawning(comm, argv[0]);
  if (what == "cut_off") cut_off(comm, argv[0]);
  if (what == "ends") ends(comm);
  if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  if (rank == (what == "makers")) std::puts("ok");
}
