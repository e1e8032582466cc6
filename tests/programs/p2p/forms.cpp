// SPDX-License-Identifier: BSD-3-Clause
// The large-count forms that p2p/large_count leaves, and what MPI 4.1 added: looking at several
// requests without completing them, and functions for the fields of a status.
// TUTTI_ONLY: the peers are older than 4.1.
#include "check.hpp"

namespace {

constexpr MPI_Count n = 3000;

struct Ring {
  explicit Ring(const check::Program& world)
      : rank(world.rank()), to((rank + 1) % world.size()), from((rank + world.size() - 1) % world.size()) {}
  const int rank, to, from;
};

int value(int rank, int tag, int i) {
  return rank * 1000003 + tag * 10007 + i;
}

std::vector<int> message(int rank, int tag) {
  std::vector<int> result(n);
  for (int i = 0; i < n; ++i) result[i] = value(rank, tag, i);
  return result;
}

// The whole message of `tag` from my left, and a status that says so.
void verify(const char* what, const std::vector<int>& in, const MPI_Status& status, const Ring& ring, int tag) {
  int source = -1, its_tag = -1;
  MPI_Count count = -1;
  OK(MPI_Status_get_source(&status, &source));
  OK(MPI_Status_get_tag(&status, &its_tag));
  OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_EQ_IN(source, ring.from, "%s", what);
  CHECK_EQ_IN(its_tag, tag, "%s", what);
  CHECK_EQ_IN(count, n, "%s", what);
  for (int i = 0; i < n; ++i) CHECK_EQ_IN(in[i], value(ring.from, tag, i), "element %d of %s", i, what);
}

void sends(const Ring& ring) {
  struct {
    const char* name;
    decltype(&MPI_Send_c) call;
  } const blocking[] = {{"Send_c", MPI_Send_c}, {"Ssend_c", MPI_Ssend_c}, {"Rsend_c", MPI_Rsend_c}};
  MPI_Request request, sent;
  MPI_Status status;
  int tag = 0;
  for (const auto& send : blocking) {
    const auto mine = message(ring.rank, ++tag);
    std::vector<int> in(n, -1);
    OK(MPI_Irecv_c(in.data(), n, MPI_INT, ring.from, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));  // Rsend needs the receive to be posted
    OK(send.call(mine.data(), n, MPI_INT, ring.to, tag, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    verify(send.name, in, status, ring, tag);
  }

  // A buffered send is done with its data before anybody receives.
  std::vector<char> buffer(n * sizeof(int) + MPI_BSEND_OVERHEAD);
  OK(MPI_Buffer_attach_c(buffer.data(), static_cast<MPI_Count>(buffer.size())));
  auto mine = message(ring.rank, ++tag);
  std::vector<int> in(n, -1);
  OK(MPI_Ibsend_c(mine.data(), n, MPI_INT, ring.to, tag, MPI_COMM_WORLD, &sent));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  std::fill(mine.begin(), mine.end(), -2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Recv_c(in.data(), n, MPI_INT, ring.from, tag, MPI_COMM_WORLD, &status));
  verify("Ibsend_c", in, status, ring, tag);
  void* detached = nullptr;
  MPI_Count bytes = -1;
  OK(MPI_Buffer_detach_c(&detached, &bytes));
  CHECK(detached == buffer.data());
  CHECK_EQ(bytes, buffer.size());
}

void exchanges(const Ring& ring) {
  MPI_Request request, sent;
  MPI_Status status;
  int tag = 10;
  auto mine = message(ring.rank, tag);
  std::vector<int> in(n, -1);
  OK(MPI_Isend_c(mine.data(), n, MPI_INT, ring.to, tag, MPI_COMM_WORLD, &sent));
  MPI_Message matched;
  OK(MPI_Mprobe(ring.from, tag, MPI_COMM_WORLD, &matched, MPI_STATUS_IGNORE));
  OK(MPI_Imrecv_c(in.data(), n, MPI_INT, &matched, &request));
  CHECK(matched == MPI_MESSAGE_NULL);
  OK(MPI_Wait(&request, &status));
  OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  verify("Imrecv_c", in, status, ring, tag);

  mine = message(ring.rank, ++tag);
  std::fill(in.begin(), in.end(), -1);
  OK(MPI_Isendrecv_c(mine.data(), n, MPI_INT, ring.to, tag, in.data(), n, MPI_INT, ring.from, tag, MPI_COMM_WORLD,
                     &request));
  OK(MPI_Wait(&request, &status));
  verify("Isendrecv_c", in, status, ring, tag);

  in = message(ring.rank, ++tag);
  OK(MPI_Isendrecv_replace_c(in.data(), n, MPI_INT, ring.to, tag, ring.from, tag, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  verify("Isendrecv_replace_c", in, status, ring, tag);
}

// Three receives, of which the middle one's message comes first.
void looking_at_requests(const Ring& ring) {
  constexpr int kFirstTag = 20;
  std::vector<int> in[3];
  MPI_Request requests[3];
  MPI_Status status, statuses[3];
  int flag = -1, index = -1, count = -1, indices[3] = {-1, -1, -1};
  for (int k = 0; k < 3; ++k) {
    in[k].assign(n, -1);
    OK(MPI_Irecv_c(in[k].data(), n, MPI_INT, ring.from, kFirstTag + k, MPI_COMM_WORLD, &requests[k]));
  }
  const auto send = [&](int k) {
    OK(MPI_Send_c(message(ring.rank, kFirstTag + k).data(), n, MPI_INT, ring.to, kFirstTag + k, MPI_COMM_WORLD));
  };
  const auto none_is_gone = [&] {
    for (MPI_Request request : requests) CHECK(request != MPI_REQUEST_NULL);
  };

  OK(MPI_Request_get_status_any(3, requests, &index, &flag, &status));
  CHECK_EQ(flag, 0);
  CHECK_EQ(index, MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK_EQ(count, 0);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK_EQ(flag, 0);

  OK(MPI_Barrier(MPI_COMM_WORLD));  // all have looked
  send(1);
  do OK(MPI_Request_get_status_any(3, requests, &index, &flag, &status));
  while (!flag);
  CHECK_EQ(index, 1);
  verify("Request_get_status_any", in[1], status, ring, kFirstTag + 1);
  OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK_EQ(count, 1);
  CHECK_EQ(indices[0], 1);
  verify("Request_get_status_some", in[1], statuses[0], ring, kFirstTag + 1);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK_EQ(flag, 0);
  none_is_gone();

  OK(MPI_Barrier(MPI_COMM_WORLD));
  send(2);
  send(0);
  do OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  while (!flag);
  for (int k = 0; k < 3; ++k) verify("Request_get_status_all", in[k], statuses[k], ring, kFirstTag + k);
  OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK_EQ(count, 3);
  for (int k = 0; k < 3; ++k)
    verify("Request_get_status_some of three", in[indices[k]], statuses[k], ring, kFirstTag + indices[k]);
  none_is_gone();
  OK(MPI_Waitall(3, requests, statuses));
  for (int k = 0; k < 3; ++k) verify("Waitall after looking", in[k], statuses[k], ring, kFirstTag + k);

  // Null requests are as good as complete.
  OK(MPI_Request_get_status_any(3, requests, &index, &flag, &status));
  CHECK_EQ(flag, 1);
  CHECK_EQ(index, MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(3, requests, &count, indices, statuses));
  CHECK_EQ(count, MPI_UNDEFINED);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK_EQ(flag, 1);
  for (const MPI_Status& empty : statuses) CHECK_EQ(empty.MPI_SOURCE, MPI_ANY_SOURCE);
}

void status_fields() {
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  OK(MPI_Status_set_elements_c(&status, MPI_INT, 77));
  struct {
    const char* name;
    decltype(&MPI_Status_set_source) set;
    decltype(&MPI_Status_get_source) get;
    int MPI_Status::* field;
    int value;
  } const fields[] = {{"source", MPI_Status_set_source, MPI_Status_get_source, &MPI_Status::MPI_SOURCE, 12345},
                      {"tag", MPI_Status_set_tag, MPI_Status_get_tag, &MPI_Status::MPI_TAG, 54321},
                      {"error", MPI_Status_set_error, MPI_Status_get_error, &MPI_Status::MPI_ERROR, MPI_ERR_TRUNCATE}};
  for (const auto& field : fields) OK(field.set(&status, field.value));
  for (const auto& field : fields) {
    int got = -1;
    OK(field.get(&status, &got));
    CHECK_EQ_IN(got, field.value, "%s", field.name);
    CHECK_EQ_IN(status.*field.field, field.value, "%s", field.name);
  }
  MPI_Count count = -1;
  OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_EQ(count, 77);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const Ring ring(world);
  sends(ring);
  exchanges(ring);
  looking_at_requests(ring);
  status_fields();
}
