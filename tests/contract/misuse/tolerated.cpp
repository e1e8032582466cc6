// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "misuse/misuse.hpp"

namespace misuse {
namespace {

using Reduce = std::function<int(int count, MPI_Datatype, MPI_Op)>;

std::vector<std::pair<Text, Reduce>> reductions(MPI_Comm comm, int size, MPI_Win win) {
  static int counts[64];
  const auto waited = [](int code, MPI_Request* request) { return code ? code : MPI_Wait(request, MPI_STATUS_IGNORE); };
  const auto all = [size](int count) {
    for (int i = 0; i < size; ++i) counts[i] = count;
    return counts;
  };
  return {
      {"MPI_Reduce", [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Reduce(in, out, n, t, op, 0, comm); }},
      {"MPI_Allreduce", [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Allreduce(in, out, n, t, op, comm); }},
      {"MPI_Scan", [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Scan(in, out, n, t, op, comm); }},
      {"MPI_Exscan", [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Exscan(in, out, n, t, op, comm); }},
      {"MPI_Reduce_scatter",
       [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Reduce_scatter(in, out, all(n), t, op, comm); }},
      {"MPI_Reduce_scatter_block",
       [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Reduce_scatter_block(in, out, n, t, op, comm); }},
      {"MPI_Iallreduce",
       [=](int n, MPI_Datatype t, MPI_Op op) {
         MPI_Request request;
         return waited(MPI_Iallreduce(in, out, n, t, op, comm, &request), &request);
       }},
      {"MPI_Reduce_local", [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Reduce_local(in, out, n, t, op); }},
      {"MPI_Accumulate",
       [=](int n, MPI_Datatype t, MPI_Op op) { return MPI_Accumulate(in, n, t, 0, 0, n, t, op, win); }},
  };
}

}  // namespace

// What the standard forbids, no result can show, and other MPIs carry out: strict alone makes errors of it.
void tolerated(Judge& judge, bool strict, int rank, int size) {
  const auto told = [&](const Text& kind, const Text& name, int code, int wanted, const Text& words) {
    if (strict)
      judge.wrong(kind, name, code, wanted, words);
    else
      judge.right(kind, name, code);
  };
  MPI_Comm comm;
  MPI_Win win;
  static char memory[256];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));

  Text kind = "an operation on nothing";
  MPI_Datatype pair;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  for (const auto& [name, reduce] : reductions(comm, size, win)) {
    told(kind, name, reduce(0, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP, "MPI_BAND is not defined on MPI_DOUBLE");
    if (name != "MPI_Accumulate") told(kind, name, reduce(0, pair, MPI_SUM), MPI_ERR_OP, "MPI_Op_create");
    judge.wrong(kind, name, reduce(1, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP, "MPI_BAND is not defined on MPI_DOUBLE");
    judge.right(kind, name, reduce(0, MPI_INT, MPI_BAND));
  }
  OK(MPI_Type_free(&pair));

  kind = "characters that are swapped";
  OK(MPI_Barrier(comm));
  const int to = (rank + 1) % size;
  char now = 'x', was = 0, got = 1;
  told(kind, "MPI_CHAR", MPI_Compare_and_swap(&now, &was, &got, MPI_CHAR, to, 200, win), MPI_ERR_TYPE,
       "compared and swapped");
  OK(MPI_Win_flush(to, win));
  OK(MPI_Barrier(comm));
  if (!strict) CHECK(got == 0 && memory[200] == 'x');
  float f = 1, floats[2] = {};
  judge.wrong(kind, "MPI_FLOAT", MPI_Compare_and_swap(&f, &floats[0], &floats[1], MPI_FLOAT, to, 0, win), MPI_ERR_TYPE,
              "compared and swapped");
  signed char s = 0, others[2] = {};
  judge.right(kind, "MPI_SIGNED_CHAR", MPI_Compare_and_swap(&s, &others[0], &others[1], MPI_SIGNED_CHAR, to, 0, win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&comm));
}

}  // namespace misuse
