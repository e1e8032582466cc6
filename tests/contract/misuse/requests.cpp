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
      {"MPI_Iallgather", [](MPI_Comm c, MPI_Request* r) { return MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, c, r); }},
      {"MPI_Ialltoall", [](MPI_Comm c, MPI_Request* r) { return MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, c, r); }},
      {"MPI_Iscan", [](MPI_Comm c, MPI_Request* r) { return MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, c, r); }},
  };
  for (const auto& [name, start] : starts) {
    MPI_Request request;
    OK(start(MPI_COMM_WORLD, &request));
    judge.wrong("active collective freed", name, MPI_Request_free(&request), MPI_ERR_REQUEST, "active nonblocking collective");
    judge.wrong("active collective cancelled", name, MPI_Cancel(&request), MPI_ERR_REQUEST, "cannot be cancelled");
    judge.right("active collective completed", name, MPI_Wait(&request, MPI_STATUS_IGNORE));
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

}  // namespace

void requests(Judge& judge) {
  active_collectives(judge);
  persistent_requests(judge);
}

}  // namespace misuse
