// SPDX-License-Identifier: BSD-3-Clause
// Messages that are longer than their buffers, and buffers of operations under way.
#include "misuse/misuse.hpp"

#include <utility>

namespace misuse {
namespace {

void truncated(Judge& judge) {
  const auto sent = [](int count) { OK(MPI_Send(in, count, MPI_INT, 0, 3, self)); };
  for (const bool fits : {false, true}) {
    const int room = fits ? 4 : 3;
    const auto tell = [&](const Text& name, int code) {
      if (fits) judge.right("a message that fits", name, code);
      else judge.wrong("truncation", name, code, MPI_ERR_TRUNCATE, "longer than the receive buffer");
    };
    sent(4);
    tell("MPI_Recv", MPI_Recv(out, room, MPI_INT, 0, 3, self, MPI_STATUS_IGNORE));
    MPI_Request r;
    OK(MPI_Irecv(out, room, MPI_INT, 0, 3, self, &r));
    sent(4);
    tell("MPI_Wait", MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(out, room, MPI_INT, MPI_ANY_SOURCE, 3, self, &r));
    sent(4);
    tell("MPI_Waitall", MPI_Waitall(1, &r, MPI_STATUSES_IGNORE));
    sent(4);
    MPI_Message message;
    OK(MPI_Mprobe(0, 3, self, &message, MPI_STATUS_IGNORE));
    tell("MPI_Mrecv", MPI_Mrecv(out, room, MPI_INT, &message, MPI_STATUS_IGNORE));
    tell("MPI_Sendrecv", MPI_Sendrecv(in, 4, MPI_INT, 0, 3, out, room, MPI_INT, 0, 3, self, MPI_STATUS_IGNORE));
  }
}

// ---- buffers of operations under way

int memory[1024];

// An operation that stays under way until it is ended: it uses 8 ints at `at`, of type `type`.
struct Running {
  Text name;
  bool writes;
  std::function<void(int* at, int count, MPI_Datatype type, MPI_Request*)> start;
  std::function<void()> end;
};
std::vector<Running> running() {
  static int spare[64];
  const auto send_it = [] { OK(MPI_Send(spare, 8, MPI_INT, 0, 50, self)); };
  const auto receive_it = [] { OK(MPI_Recv(spare, 8, MPI_INT, 0, 50, self, MPI_STATUS_IGNORE)); };
  return {
      {"MPI_Irecv", true, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Irecv(at, n, t, 0, 50, self, r)); }, send_it},
      {"MPI_Isend", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Isend(at, n, t, 0, 50, self, r)); }, receive_it},
      {"MPI_Issend", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Issend(at, n, t, 0, 50, self, r)); }, receive_it},
      {"MPI_Iallgather, sendbuf", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Iallgather(at, n, t, spare, 8, MPI_INT, self, r)); }, [] {}},
      {"MPI_Iallgather, recvbuf", true, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Iallgather(spare, 8, MPI_INT, at, n, t, self, r)); }, [] {}},
      {"MPI_Ialltoall, in place", true, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, at, n, t, self, r)); }, [] {}},
      {"MPI_Ibcast at the root", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Ibcast(at, n, t, 0, self, r)); }, [] {}},
  };
}

// What is called meanwhile with 4 ints at `at`.
struct Meanwhile {
  Text name;
  bool writes;
  std::function<int(int* at)> call;
};
std::vector<Meanwhile> meanwhile() {
  static int spare[64];
  return {
      {"MPI_Irecv", true, [](int* at) {
         MPI_Request r;
         const int e = MPI_Irecv(at, 4, MPI_INT, 0, 60, self, &r);
         if (e) return e;
         OK(MPI_Send(spare, 4, MPI_INT, 0, 60, self));
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
      {"MPI_Recv", true, [](int* at) {
         OK(MPI_Send(spare, 4, MPI_INT, 0, 60, self));
         const int e = MPI_Recv(at, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE);
         if (e) OK(MPI_Recv(spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
         return e;
       }},
      {"MPI_Isend", false, [](int* at) {
         MPI_Request r;
         const int e = MPI_Isend(at, 4, MPI_INT, 0, 60, self, &r);
         if (e) return e;
         OK(MPI_Recv(spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
      {"MPI_Send", false, [](int* at) {
         const int e = MPI_Send(at, 4, MPI_INT, 0, 60, self);
         if (!e) OK(MPI_Recv(spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
         return e;
       }},
      {"MPI_Sendrecv, sendbuf", false, [](int* at) { return MPI_Sendrecv(at, 4, MPI_INT, 0, 60, spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE); }},
      {"MPI_Sendrecv, recvbuf", true, [](int* at) { return MPI_Sendrecv(spare, 4, MPI_INT, 0, 60, at, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE); }},
      {"MPI_Allreduce, sendbuf", false, [](int* at) { return MPI_Allreduce(at, spare, 4, MPI_INT, MPI_SUM, self); }},
      {"MPI_Allreduce, recvbuf", true, [](int* at) { return MPI_Allreduce(spare, at, 4, MPI_INT, MPI_SUM, self); }},
      {"MPI_Alltoallv, recvbuf", true, [](int* at) {
         const int four = 4, zero = 0;
         return MPI_Alltoallv(spare, &four, &zero, MPI_INT, at, &four, &zero, MPI_INT, self);
       }},
      {"MPI_Bcast at the root", false, [](int* at) { return MPI_Bcast(at, 4, MPI_INT, 0, self); }},
  };
}

void overlapping(Judge& judge) {
  MPI_Datatype odd;  // the first of every two ints
  OK(MPI_Type_create_resized(MPI_INT, 0, 8, &odd));
  OK(MPI_Type_commit(&odd));
  int* const at = memory + 512;
  for (const Running& first : running())
    for (const Meanwhile& second : meanwhile())
      for (const int offset : {-4, -3, 0, 2, 5, 7, 8}) {
        MPI_Request request;
        first.start(at, 8, MPI_INT, &request);
        const int code = second.call(at + offset);
        const Text name = first.name + " x " + second.name + " at " + std::to_string(offset);
        const bool apart = offset <= -4 || offset >= 8;
        if (!apart && (first.writes || second.writes)) judge.wrong("overlap", name, code, MPI_ERR_BUFFER, "shares bytes");
        else judge.right(apart ? "buffers side by side" : "reads of one buffer", name, code);
        first.end();
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
  // Interleaved without a byte in common, and by one element.
  for (const int offset : {1, 2}) {
    MPI_Request one, two;
    OK(MPI_Irecv(at, 8, odd, 0, 50, self, &one));
    const int code = MPI_Irecv(at + offset, 8, odd, 0, 51, self, &two);
    if (offset == 2) {
      judge.wrong("overlap of layouts", "MPI_Irecv", code, MPI_ERR_BUFFER, "shares bytes");
    } else {
      judge.right("interleaved layouts", "MPI_Irecv", code);
      OK(MPI_Send(in, 8, MPI_INT, 0, 51, self));
      OK(MPI_Wait(&two, MPI_STATUS_IGNORE));
    }
    OK(MPI_Send(in, 8, MPI_INT, 0, 50, self));
    OK(MPI_Wait(&one, MPI_STATUS_IGNORE));
  }
  // Within one call.
  judge.wrong("overlap in a call", "MPI_Sendrecv",
              MPI_Sendrecv(at, 4, MPI_INT, 0, 60, at + 3, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE), MPI_ERR_BUFFER, "share bytes");
  judge.wrong("overlap in a call", "MPI_Allreduce", MPI_Allreduce(at, at + 3, 4, MPI_INT, MPI_SUM, self), MPI_ERR_BUFFER, "share bytes");
  judge.wrong("overlap in a call", "MPI_Iallgather", [&] {
    MPI_Request r;
    return MPI_Iallgather(at, 4, MPI_INT, at + 3, 4, MPI_INT, self, &r);
  }(), MPI_ERR_BUFFER, "share bytes");
  judge.right("no overlap in a call", "MPI_Sendrecv_replace",
              MPI_Sendrecv_replace(at, 4, MPI_INT, 0, 60, 0, 60, self, MPI_STATUS_IGNORE));
  judge.right("no overlap in a call", "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, at, 4, MPI_INT, MPI_SUM, self));
  judge.right("no overlap in a call", "MPI_Sendrecv of nothing",
              MPI_Sendrecv(at, 0, MPI_INT, 0, 60, at, 0, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&odd));
}

// What is received by a datatype whose entries overlap.
void overlapping_entries(Judge& judge) {
  int lengths[] = {2, 2}, apart[] = {2, 0}, over[] = {0, 1};
  for (const bool wrong : {false, true}) {
    MPI_Datatype type;
    OK(MPI_Type_indexed(2, lengths, wrong ? over : apart, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    const auto tell = [&](const Text& name, int code) {
      if (wrong) judge.wrong("entries overlap", name, code, MPI_ERR_TYPE, "overlap");
      else judge.right("entries side by side", name, code);
    };
    tell("MPI_Sendrecv", MPI_Sendrecv(in, 4, MPI_INT, 0, 61, out, 1, type, 0, 61, self, MPI_STATUS_IGNORE));
    tell("MPI_Allgather", MPI_Allgather(in, 4, MPI_INT, out, 1, type, self));
    judge.right("entries that are sent", "MPI_Sendrecv",
                MPI_Sendrecv(in, 1, type, 0, 61, out, 4, MPI_INT, 0, 61, self, MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&type));
  }
  // Elements between each other's gaps.
  MPI_Datatype column, columns;
  OK(MPI_Type_vector(4, 1, 4, MPI_INT, &column));
  OK(MPI_Type_create_resized(column, 0, sizeof(int), &columns));
  OK(MPI_Type_commit(&columns));
  judge.right("entries side by side", "MPI_Sendrecv of columns",
              MPI_Sendrecv(in, 16, MPI_INT, 0, 61, out, 4, columns, 0, 61, self, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&columns));
}

// Of operations on windows: until a call says that they are complete here.
void overlapping_on_windows(Judge& judge) {
  static int shown[64];
  MPI_Win win;
  OK(MPI_Win_create(shown, sizeof shown, sizeof(int), MPI_INFO_NULL, self, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  int* const at = memory + 512;
  int calls = 0;  // each at another place of the window, of which nothing is told here
  const auto there = [&] { return MPI_Aint{8} * (calls++ % 8); };
  struct Access {
    const char* name;
    bool writes;
    std::function<int(int*)> call;
  };
  const Access accesses[] = {
      {"MPI_Put", false, [&](int* p) { return MPI_Put(p, 8, MPI_INT, 0, there(), 8, MPI_INT, win); }},
      {"MPI_Get", true, [&](int* p) { return MPI_Get(p, 8, MPI_INT, 0, there(), 8, MPI_INT, win); }},
      {"MPI_Accumulate", false,
       [&](int* p) { return MPI_Accumulate(p, 8, MPI_INT, 0, there(), 8, MPI_INT, MPI_SUM, win); }},
      {"MPI_Get_accumulate", true,
       [&](int* p) {
         return MPI_Get_accumulate(nullptr, 0, MPI_INT, p, 8, MPI_INT, 0, there(), 8, MPI_INT, MPI_NO_OP,
                                   win);
       }},
  };
  const std::pair<const char*, std::function<int()>> ends[] = {
      {"MPI_Win_flush", [&] { return MPI_Win_flush(0, win); }},
      {"MPI_Win_flush_all", [&] { return MPI_Win_flush_all(win); }},
      {"MPI_Win_flush_local", [&] { return MPI_Win_flush_local(0, win); }},
      {"MPI_Win_flush_local_all", [&] { return MPI_Win_flush_local_all(win); }},
  };
  for (const Access& first : accesses)
    for (const Access& second : accesses)
      for (const int offset : {-8, -7, 0, 7, 8}) {
        OK(first.call(at));
        const Text name = Text(first.name) + " x " + second.name + " at " + std::to_string(offset);
        const int code = second.call(at + offset);
        const bool apart = offset <= -8 || offset >= 8;
        if (!apart && (first.writes || second.writes))
          judge.wrong("overlap on windows", name, code, MPI_ERR_BUFFER, "shares bytes");
        else
          judge.right("no overlap on windows", name, code);
        OK(MPI_Win_flush_all(win));
      }
  for (const Access& access : accesses)
    for (const auto& [name, end] : ends) {
      OK(access.call(at));
      OK(end());
      judge.right("no overlap on windows", Text(access.name) + " behind " + name,
                  accesses[1].call(at));
      OK(MPI_Win_flush(0, win));
    }
  // Requests, and messages meanwhile.
  MPI_Request request;
  OK(MPI_Rget(at, 8, MPI_INT, 0, 0, 8, MPI_INT, win, &request));
  judge.wrong("overlap on windows", "MPI_Rget x MPI_Send", MPI_Send(at, 8, MPI_INT, 0, 77, self),
              MPI_ERR_BUFFER, "shares bytes");
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  judge.right("no overlap on windows", "MPI_Put behind MPI_Rget", accesses[0].call(at));
  OK(MPI_Win_flush_all(win));
  judge.wrong("overlap in a call", "MPI_Fetch_and_op",
              MPI_Fetch_and_op(at, at, MPI_INT, 0, 0, MPI_SUM, win), MPI_ERR_BUFFER, "share bytes");
  judge.right("no overlap in a call", "MPI_Fetch_and_op of MPI_NO_OP",
              MPI_Fetch_and_op(at, at, MPI_INT, 0, 0, MPI_NO_OP, win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

}  // namespace

void buffers(Judge& judge, bool strict) {
  truncated(judge);
  if (strict) overlapping(judge);
  if (strict) overlapping_entries(judge);
  if (strict) overlapping_on_windows(judge);
}

}  // namespace misuse
