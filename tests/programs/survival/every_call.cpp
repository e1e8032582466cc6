// SPDX-License-Identifier: BSD-3-Clause
// Each kind of call that may wait for a process that has failed: it ends, with MPIX_ERR_PROC_FAILED where it needs that
// one, and what does not goes on. Three ranks fail one after the other, the last of those that live; between them the
// others shrink. Run with mpirun --on-failure=continue, on four ranks or more.
#include "check.hpp"
#include "dying.hpp"

namespace {

int class_of(int code) {
  return check::error_class(code);
}

struct Members {
  explicit Members(MPI_Comm comm) {
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
  }
  int victim() const { return size - 1; }
  int rank = 0, size = 0;
};

MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Comm_dup(comm, &made));
  return made;
}

// Those who live, who say that all of them have come so far. The failed one's communicator is gone then.
MPI_Comm shrunk(MPI_Comm comm, int expected) {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(comm, &made));
  OK(MPI_Comm_free(&comm));
  CHECK_EQ(Members(made).size, expected);
  int sum = 0, one = 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
  CHECK_EQ(sum, expected);
  return made;
}

int failed_members(MPI_Comm comm) {
  MPI_Group failed;
  int count = 0;
  OK(MPIX_Comm_get_failed(comm, &failed));
  OK(MPI_Group_size(failed, &count));
  if (count > 0) OK(MPI_Group_free(&failed));
  return count;
}

// ---- messages

// Everybody waits in another way, begun before the failure or after it; nobody's success depends on that.
void completion(MPI_Comm comm, const Members& all) {
  const int peer = (all.rank + 1) % (all.size - 1), before = (all.rank + all.size - 2) % (all.size - 1);
  int values[3] = {};
  MPI_Request requests[3];
  MPI_Status statuses[3];
  OK(MPI_Irecv(&values[0], 1, MPI_INT, all.victim(), 1, comm, &requests[0]));
  OK(MPI_Irecv(&values[1], 1, MPI_INT, before, 1, comm, &requests[1]));
  OK(MPI_Isend(&all.rank, 1, MPI_INT, peer, 1, comm, &requests[2]));
  FAILS(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
  // Those that it has not come to are pending.
  for (int i = 0; i < 3; ++i) {
    const int its_class = class_of(statuses[i].MPI_ERROR);
    if (i == 0) CHECK_EQ(its_class, MPIX_ERR_PROC_FAILED);
    if (its_class == MPI_ERR_PENDING)
      OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    else if (i > 0)
      CHECK_EQ(its_class, MPI_SUCCESS);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  CHECK_EQ(values[1], before);

  OK(MPI_Irecv(&values[0], 1, MPI_INT, all.victim(), 2, comm, &requests[0]));
  int index = -1;
  FAILS(MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(index, 0);
  OK(MPI_Irecv(&values[0], 1, MPI_INT, all.victim(), 2, comm, &requests[0]));
  int count = 0;
  FAILS(MPI_Waitsome(1, requests, &count, &index, statuses), MPI_ERR_IN_STATUS);
  CHECK_EQ(count, 1);
  CHECK_EQ(class_of(statuses[0].MPI_ERROR), MPIX_ERR_PROC_FAILED);
  OK(MPI_Irecv(&values[0], 1, MPI_INT, all.victim(), 2, comm, &requests[0]));
  int flag = 0, code = MPI_SUCCESS;
  while (!flag && code == MPI_SUCCESS) code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  CHECK_EQ(class_of(code), MPIX_ERR_PROC_FAILED);
  CHECK(requests[0] == MPI_REQUEST_NULL);
}

void one_message(MPI_Comm comm, const Members& all) {
  int value = 0, flag = 0;
  FAILS(MPI_Recv(&value, 1, MPI_INT, all.victim(), 3, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Ssend(&value, 1, MPI_INT, all.victim(), 3, comm), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Send(&value, 1, MPI_INT, all.victim(), 3, comm), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Sendrecv(&value, 1, MPI_INT, all.victim(), 3, &flag, 1, MPI_INT, all.victim(), 3, comm, MPI_STATUS_IGNORE),
        MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Probe(all.victim(), 3, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Iprobe(all.victim(), 3, comm, &flag, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  MPI_Message message;
  FAILS(MPI_Mprobe(all.victim(), 3, comm, &message, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
}

void persistent(MPI_Comm comm, const Members& all) {
  int value = 0;
  MPI_Request in, out;
  OK(MPI_Recv_init(&value, 1, MPI_INT, all.victim(), 4, comm, &in));
  OK(MPI_Ssend_init(&value, 1, MPI_INT, all.victim(), 4, comm, &out));
  for (int round = 0; round < 2; ++round)
    for (MPI_Request* each : {&in, &out}) {
      const int begun = MPI_Start(each);
      if (begun == MPI_SUCCESS) FAILS(MPI_Wait(each, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
      CHECK(*each != MPI_REQUEST_NULL);
    }
  OK(MPI_Request_free(&in));
  OK(MPI_Request_free(&out));
}

void partitioned(MPI_Comm comm, const Members& all) {
  int values[4] = {};
  MPI_Request request;
  OK(MPI_Precv_init(values, 2, 2, MPI_INT, all.victim(), 5, comm, MPI_INFO_NULL, &request));
  if (MPI_Start(&request) == MPI_SUCCESS) FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  OK(MPI_Request_free(&request));
  OK(MPI_Psend_init(values, 2, 2, MPI_INT, all.victim(), 6, comm, MPI_INFO_NULL, &request));
  if (MPI_Start(&request) == MPI_SUCCESS) {
    MPI_Pready_range(0, 1, request);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  }
  OK(MPI_Request_free(&request));
}

// Acknowledged in the end, so that the wildcard goes on and meets its message.
void wildcard(MPI_Comm comm, const Members& all) {
  const int peer = (all.rank + 1) % (all.size - 1), before = (all.rank + all.size - 2) % (all.size - 1);
  int value = -1, flag = 0, acknowledged = 0;
  MPI_Status status;
  FAILS(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Probe(MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  MPI_Request request;
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 8, comm, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
  FAILS(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
  int index = 0;
  FAILS(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
  FAILS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
  CHECK_EQ(class_of(status.MPI_ERROR), MPIX_ERR_PROC_FAILED_PENDING);
  CHECK(request != MPI_REQUEST_NULL);
  // Until all have seen that nobody sends.
  int agreed = 1;
  FAILS(MPIX_Comm_agree(comm, &agreed), MPIX_ERR_PROC_FAILED);
  OK(MPIX_Comm_ack_failed(comm, all.size, &acknowledged));
  CHECK_EQ(acknowledged, 1);
  OK(MPI_Send(&all.rank, 1, MPI_INT, peer, 8, comm));
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(value, before);
  CHECK_EQ(status.MPI_SOURCE, before);
  OK(MPI_Send(&all.rank, 1, MPI_INT, peer, 9, comm));
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, 9, comm, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  // Acknowledged by all: agreements are without error, collectives are not.
  OK(MPIX_Comm_agree(comm, &agreed));
  FAILS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
}

MPI_Comm messages(MPI_Comm comm) {
  const Members all(comm);
  MPI_Comm own[5];
  for (MPI_Comm& each : own) each = duplicate(comm);
  dying::fails(comm, all.victim());
  completion(own[0], all);
  one_message(own[1], all);
  persistent(own[2], all);
  partitioned(own[3], all);
  wildcard(own[4], all);
  for (MPI_Comm& each : own) OK(MPI_Comm_free(&each));
  return shrunk(comm, all.size - 1);
}

// ---- collectives

struct Data {
  explicit Data(MPI_Comm comm)
      : all(comm),
        out(static_cast<size_t>(64 * all.size), all.rank),
        in(out),
        counts(static_cast<size_t>(all.size), 64),
        places(counts),
        types(counts.size(), MPI_INT) {
    for (int i = 0; i < all.size; ++i) places[static_cast<size_t>(i)] = 64 * i;
    bytes = places;
    for (int& each : bytes) each *= static_cast<int>(sizeof(int));
  }
  Members all;
  std::vector<int> out, in, counts, places, bytes;
  std::vector<MPI_Datatype> types;
};

using Begin = int (*)(Data&, MPI_Comm, MPI_Request*);
constexpr Begin kBegins[] = {
    [](Data&, MPI_Comm c, MPI_Request* r) { return MPI_Ibarrier(c, r); },
    [](Data& d, MPI_Comm c, MPI_Request* r) { return MPI_Ibcast(d.in.data(), 64, MPI_INT, d.all.victim(), c, r); },
    [](Data& d, MPI_Comm c, MPI_Request* r) { return MPI_Ibcast(d.in.data(), 64, MPI_INT, 0, c, r); },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Igather(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, 0, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Igatherv(d.out.data(), 64, MPI_INT, d.in.data(), d.counts.data(), d.places.data(), MPI_INT, 0, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iscatter(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, d.all.victim(), c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iscatterv(d.out.data(), d.counts.data(), d.places.data(), MPI_INT, d.in.data(), 64, MPI_INT, 0, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iallgather(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iallgatherv(d.out.data(), 64, MPI_INT, d.in.data(), d.counts.data(), d.places.data(), MPI_INT, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ialltoall(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ialltoallv(d.out.data(), d.counts.data(), d.places.data(), MPI_INT, d.in.data(), d.counts.data(),
                            d.places.data(), MPI_INT, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ialltoallw(d.out.data(), d.counts.data(), d.bytes.data(), d.types.data(), d.in.data(), d.counts.data(),
                            d.bytes.data(), d.types.data(), c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ireduce(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, d.all.victim(), c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ireduce(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, 0, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iallreduce(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ireduce_scatter(d.out.data(), d.in.data(), d.counts.data(), MPI_INT, MPI_SUM, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Ireduce_scatter_block(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iscan(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c, r);
    },
    [](Data& d, MPI_Comm c, MPI_Request* r) {
      return MPI_Iexscan(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c, r);
    },
};
using Run = int (*)(Data&, MPI_Comm);
constexpr Run kRuns[] = {
    [](Data&, MPI_Comm c) { return MPI_Barrier(c); },
    [](Data& d, MPI_Comm c) { return MPI_Bcast(d.in.data(), 64, MPI_INT, d.all.victim(), c); },
    [](Data& d, MPI_Comm c) { return MPI_Gather(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, 0, c); },
    [](Data& d, MPI_Comm c) {
      return MPI_Scatter(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, d.all.victim(), c);
    },
    [](Data& d, MPI_Comm c) { return MPI_Allgather(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, c); },
    [](Data& d, MPI_Comm c) { return MPI_Alltoall(d.out.data(), 64, MPI_INT, d.in.data(), 64, MPI_INT, c); },
    [](Data& d, MPI_Comm c) { return MPI_Reduce(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, 0, c); },
    [](Data& d, MPI_Comm c) { return MPI_Allreduce(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c); },
    [](Data& d, MPI_Comm c) { return MPI_Reduce_scatter_block(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c); },
    [](Data& d, MPI_Comm c) { return MPI_Scan(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c); },
    [](Data& d, MPI_Comm c) { return MPI_Exscan(d.out.data(), d.in.data(), 64, MPI_INT, MPI_SUM, c); },
};

// Whoever needs nothing of the failed one may end well.
void fails_or_not(int code) {
  if (code != MPI_SUCCESS) CHECK_EQ(class_of(code), MPIX_ERR_PROC_FAILED);
}

MPI_Comm collectives(MPI_Comm comm) {
  const Members all(comm);
  Data data(comm);
  std::vector<MPI_Comm> own;
  for (size_t i = 0; i < std::size(kBegins); ++i) own.push_back(duplicate(comm));
  std::vector<MPI_Comm> blocking;
  for (size_t i = 0; i < std::size(kRuns); ++i) blocking.push_back(duplicate(comm));
  MPI_Comm grid = MPI_COMM_NULL, kept = duplicate(comm);
  const int periods[] = {1}, dims[] = {all.size};
  OK(MPI_Cart_create(comm, 1, dims, periods, 0, &grid));
  MPI_Request persistent;
  OK(MPI_Allreduce_init(data.out.data(), data.in.data(), 64, MPI_INT, MPI_SUM, kept, MPI_INFO_NULL, &persistent));
  OK(MPI_Start(&persistent));
  OK(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
  dying::fails(comm, all.victim());
  std::vector<MPI_Request> requests(own.size(), MPI_REQUEST_NULL);
  // To start is local, before the failure is known and after it.
  for (size_t i = 0; i < own.size(); ++i) OK(kBegins[i](data, own[i], &requests[i]));
  for (MPI_Request& each : requests) fails_or_not(MPI_Wait(&each, MPI_STATUS_IGNORE));
  for (size_t i = 0; i < blocking.size(); ++i) fails_or_not(kRuns[i](data, blocking[i]));
  for (MPI_Comm each : blocking) {
    FAILS(MPI_Barrier(each), MPIX_ERR_PROC_FAILED);
    CHECK_EQ(failed_members(each), 1);  // whoever has heard of an error knows of whom
  }
  for (size_t i = 0; i < own.size(); ++i) {
    OK(kBegins[i](data, own[i], &requests[i]));
    CHECK(requests[i] != MPI_REQUEST_NULL);
    FAILS(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  }
  fails_or_not(MPI_Neighbor_allgather(data.out.data(), 1, MPI_INT, data.in.data(), 1, MPI_INT, grid));
  const int begun = MPI_Start(&persistent);
  fails_or_not(begun);
  if (begun == MPI_SUCCESS) fails_or_not(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&persistent));
  for (std::vector<MPI_Comm>* list : {&own, &blocking})
    for (MPI_Comm& each : *list) OK(MPI_Comm_free(&each));
  OK(MPI_Comm_free(&grid));
  OK(MPI_Comm_free(&kept));
  return shrunk(comm, all.size - 1);
}

// ---- what makes something of a communicator

MPI_Comm makers(MPI_Comm comm) {
  const Members all(comm);
  MPI_Comm made = MPI_COMM_NULL, halves = MPI_COMM_NULL, between = MPI_COMM_NULL;
  const bool low = all.rank < all.size / 2;
  OK(MPI_Comm_split(comm, low, all.rank, &halves));
  OK(MPI_Intercomm_create(halves, 0, comm, low ? all.size / 2 : 0, 1, &between));
  MPI_Group group, ours;
  OK(MPI_Comm_group(comm, &group));
  const int victim = all.victim();
  OK(MPI_Group_excl(group, 1, &victim, &ours));
  dying::fails(comm, all.victim());
  // Whoever only tells others may not know yet, until he has heard of nobody.
  fails_or_not(MPI_Comm_dup(comm, &made));
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  FAILS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Comm_dup(comm, &made), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Comm_split(comm, 0, 0, &made), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Comm_create(comm, group, &made), MPIX_ERR_PROC_FAILED);
  made = MPI_COMM_NULL;
  fails_or_not(MPI_Comm_create_group(comm, group, 3, &made));
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  MPI_Request request;
  if (const int begun = MPI_Comm_idup(comm, &made, &request); begun == MPI_SUCCESS)
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  // It is not needed for this one.
  OK(MPI_Comm_create_group(comm, ours, 4, &made));
  OK(MPI_Barrier(made));
  OK(MPI_Comm_free(&made));

  FAILS(MPI_Barrier(between), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Intercomm_merge(between, low, &made), MPIX_ERR_PROC_FAILED);
  int flag = low ? 6 : 3;
  FAILS(MPIX_Comm_agree(between, &flag), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(flag, all.size - 1 > all.size / 2 ? (low ? 3 : 6) : (low ? -1 : 6));
  MPI_Comm again = MPI_COMM_NULL;
  if (all.size - 1 > all.size / 2) {
    OK(MPIX_Comm_shrink(between, &again));
    int remote = 0;
    OK(MPI_Comm_remote_size(again, &remote));
    CHECK_EQ(remote, low ? all.size - 1 - all.size / 2 : all.size / 2);
    OK(MPI_Barrier(again));
    OK(MPI_Intercomm_merge(again, !low, &made));
    CHECK_EQ(Members(made).rank, all.rank);
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
    OK(MPI_Comm_free(&again));
  }
  if (low) OK(MPI_Barrier(halves));
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&ours));
  OK(MPI_Comm_free(&between));
  OK(MPI_Comm_free(&halves));
  return shrunk(comm, all.size - 1);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm_rank(MPI_COMM_WORLD, &check::world_rank);
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  comm = messages(comm);
  comm = collectives(comm);
  if (Members(comm).size > 1) comm = makers(comm);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  if (check::world_rank == 0) std::puts("ok");
}
