// SPDX-License-Identifier: BSD-3-Clause
// Requests of collectives that are active, and persistent ones.
#include "misuse/misuse.hpp"

namespace misuse {
namespace {

void active_collectives(Judge& judge) {
  using Start = std::function<int(MPI_Comm, MPI_Request*)>;
  const std::vector<std::pair<Text, Start>> starts{
      {"MPI_Ibarrier", [](MPI_Comm c, MPI_Request* r) { return MPI_Ibarrier(c, r); }},
      {"MPI_Ibcast", [](MPI_Comm c, MPI_Request* r) { return MPI_Ibcast(in, 1, MPI_INT, 0, c, r); }},
      {"MPI_Ireduce", [](MPI_Comm c, MPI_Request* r) { return MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, 0, c, r); }},
      {"MPI_Iallreduce", [](MPI_Comm c, MPI_Request* r) { return MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, c, r); }},
      {"MPI_Iallgather",
       [](MPI_Comm c, MPI_Request* r) { return MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, c, r); }},
      {"MPI_Ialltoall",
       [](MPI_Comm c, MPI_Request* r) { return MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, c, r); }},
      {"MPI_Iscan", [](MPI_Comm c, MPI_Request* r) { return MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, c, r); }},
  };
  for (const auto& [name, start] : starts) {
    MPI_Request request;
    OK(start(MPI_COMM_WORLD, &request));
    judge.wrong("active collective freed", name, MPI_Request_free(&request), MPI_ERR_REQUEST,
                "active nonblocking collective");
    judge.wrong("active collective cancelled", name, MPI_Cancel(&request), MPI_ERR_REQUEST, "cannot be cancelled");
    judge.right("active collective completed", name, MPI_Wait(&request, MPI_STATUS_IGNORE));
    // One that the program knows to be complete is not active any more.
    OK(start(MPI_COMM_WORLD, &request));
    for (int over = 0; !over;) OK(MPI_Request_get_status(request, &over, MPI_STATUS_IGNORE));
    judge.right("complete collective freed", name, MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
  }
}

void persistent_requests(Judge& judge) {
  MPI_Request receive, ordinary, null = MPI_REQUEST_NULL;
  OK(MPI_Recv_init(in, 1, MPI_INT, 0, 4, self, &receive));
  judge.wrong("inactive cancelled", "MPI_Cancel", MPI_Cancel(&receive), MPI_ERR_REQUEST, "inactive");
  for (int round = 0; round < 3; ++round) {
    judge.right("inactive started", "MPI_Start", MPI_Start(&receive));
    judge.wrong("active persistent started", "MPI_Start", MPI_Start(&receive), MPI_ERR_REQUEST, "is active");
    judge.wrong("active persistent started", "MPI_Startall", MPI_Startall(1, &receive), MPI_ERR_REQUEST, "is active");
    OK(MPI_Send(out, 1, MPI_INT, 0, 4, self));
    judge.right("active persistent completed", "MPI_Wait", MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&receive));
  OK(MPI_Irecv(in, 1, MPI_INT, 0, 4, self, &ordinary));
  judge.wrong("not persistent started", "MPI_Start", MPI_Start(&ordinary), MPI_ERR_REQUEST, "not persistent");
  judge.wrong("not persistent started", "MPI_Startall", MPI_Startall(1, &ordinary), MPI_ERR_REQUEST, "not persistent");
  judge.wrong("null started", "MPI_Start", MPI_Start(&null), MPI_ERR_REQUEST, "null");
  OK(MPI_Send(out, 1, MPI_INT, 0, 4, self));
  OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
}

// One request at two places of an array: the second is a handle of what the first has completed.
void twice(Judge& judge) {
  using Call = std::function<int(int, MPI_Request*)>;
  static int index, indices[3], flag, count;
  const std::pair<const char*, Call> calls[] = {
      {"MPI_Waitall", [](int n, MPI_Request* r) { return MPI_Waitall(n, r, MPI_STATUSES_IGNORE); }},
      {"MPI_Waitany", [](int n, MPI_Request* r) { return MPI_Waitany(n, r, &index, MPI_STATUS_IGNORE); }},
      {"MPI_Waitsome", [](int n, MPI_Request* r) { return MPI_Waitsome(n, r, &count, indices, MPI_STATUSES_IGNORE); }},
      {"MPI_Testall", [](int n, MPI_Request* r) { return MPI_Testall(n, r, &flag, MPI_STATUSES_IGNORE); }},
      {"MPI_Testany", [](int n, MPI_Request* r) { return MPI_Testany(n, r, &index, &flag, MPI_STATUS_IGNORE); }},
      {"MPI_Testsome", [](int n, MPI_Request* r) { return MPI_Testsome(n, r, &count, indices, MPI_STATUSES_IGNORE); }},
  };
  for (const auto& [name, call] : calls) {
    MPI_Request request, other;
    OK(MPI_Irecv(out, 1, MPI_INT, 0, 90, self, &request));
    OK(MPI_Irecv(out + 1, 1, MPI_INT, 0, 91, self, &other));
    MPI_Request array[] = {request, other, request};
    judge.wrong("a request twice in an array", name, call(3, array), MPI_ERR_REQUEST, "are the same request");
    MPI_Request each[] = {request, MPI_REQUEST_NULL, other, MPI_REQUEST_NULL};
    OK(MPI_Send(in, 1, MPI_INT, 0, 90, self));
    OK(MPI_Send(in, 1, MPI_INT, 0, 91, self));
    judge.right("requests and null handles", name, call(4, each));
    OK(MPI_Waitall(4, each, MPI_STATUSES_IGNORE));
  }
  // Persistent ones that have not been started count for nothing.
  MPI_Request idle;
  OK(MPI_Recv_init(out, 1, MPI_INT, 0, 90, self, &idle));
  MPI_Request inactive[] = {idle, idle};
  judge.right("requests and null handles", "MPI_Waitall", MPI_Waitall(2, inactive, MPI_STATUSES_IGNORE));
  OK(MPI_Request_free(&idle));
}

}  // namespace

void requests(Judge& judge, bool strict) {
  active_collectives(judge);
  persistent_requests(judge);
  if (strict) twice(judge);
}

}  // namespace misuse
