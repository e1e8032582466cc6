// SPDX-License-Identifier: BSD-3-Clause
// Messages that are longer than their buffers, and buffers of operations under way.
#include <sys/mman.h>

#include <utility>

#include "misuse/misuse.hpp"

namespace misuse {
namespace {

void truncated(Judge& judge) {
  const auto sent = [](int count) { OK(MPI_Send(in, count, MPI_INT, 0, 3, self)); };
  for (const bool fits : {false, true}) {
    const int room = fits ? 4 : 3;
    const auto tell = [&](const Text& name, int code, int mpi_class = MPI_ERR_TRUNCATE) {
      if (fits)
        judge.right("a message that fits", name, code);
      else
        judge.wrong("truncation", name, code, mpi_class, "longer than the receive buffer");
    };
    sent(4);
    tell("MPI_Recv", MPI_Recv(out, room, MPI_INT, 0, 3, self, MPI_STATUS_IGNORE));
    MPI_Request r;
    OK(MPI_Irecv(out, room, MPI_INT, 0, 3, self, &r));
    sent(4);
    tell("MPI_Wait", MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(out, room, MPI_INT, MPI_ANY_SOURCE, 3, self, &r));
    sent(4);
    tell("MPI_Waitall", MPI_Waitall(1, &r, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
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
  // clang-format off
  return {
      {"MPI_Irecv", true, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Irecv(at, n, t, 0, 50, self, r)); }, send_it},
      {"MPI_Isend", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Isend(at, n, t, 0, 50, self, r)); }, receive_it},
      {"MPI_Issend", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Issend(at, n, t, 0, 50, self, r)); }, receive_it},
      {"MPI_Iallgather, sendbuf", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Iallgather(at, n, t, spare, 8, MPI_INT, self, r)); }, [] {}},
      {"MPI_Iallgather, recvbuf", true, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Iallgather(spare, 8, MPI_INT, at, n, t, self, r)); }, [] {}},
      {"MPI_Ialltoall, in place", true, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, at, n, t, self, r)); }, [] {}},
      {"MPI_Ibcast at the root", false, [](int* at, int n, MPI_Datatype t, MPI_Request* r) { OK(MPI_Ibcast(at, n, t, 0, self, r)); }, [] {}},
  };
  // clang-format on
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
      {"MPI_Irecv", true,
       [](int* at) {
         MPI_Request r;
         const int e = MPI_Irecv(at, 4, MPI_INT, 0, 60, self, &r);
         if (e) return e;
         OK(MPI_Send(spare, 4, MPI_INT, 0, 60, self));
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
      {"MPI_Recv", true,
       [](int* at) {
         OK(MPI_Send(spare, 4, MPI_INT, 0, 60, self));
         const int e = MPI_Recv(at, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE);
         if (e) OK(MPI_Recv(spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
         return e;
       }},
      {"MPI_Isend", false,
       [](int* at) {
         MPI_Request r;
         const int e = MPI_Isend(at, 4, MPI_INT, 0, 60, self, &r);
         if (e) return e;
         OK(MPI_Recv(spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
      {"MPI_Send", false,
       [](int* at) {
         const int e = MPI_Send(at, 4, MPI_INT, 0, 60, self);
         if (!e) OK(MPI_Recv(spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
         return e;
       }},
      {"MPI_Sendrecv, sendbuf", false,
       [](int* at) { return MPI_Sendrecv(at, 4, MPI_INT, 0, 60, spare, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE); }},
      {"MPI_Sendrecv, recvbuf", true,
       [](int* at) { return MPI_Sendrecv(spare, 4, MPI_INT, 0, 60, at, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE); }},
      {"MPI_Allreduce, sendbuf", false, [](int* at) { return MPI_Allreduce(at, spare, 4, MPI_INT, MPI_SUM, self); }},
      {"MPI_Allreduce, recvbuf", true, [](int* at) { return MPI_Allreduce(spare, at, 4, MPI_INT, MPI_SUM, self); }},
      {"MPI_Alltoallv, recvbuf", true,
       [](int* at) {
         const int four = 4, zero = 0;
         return MPI_Alltoallv(spare, &four, &zero, MPI_INT, at, &four, &zero, MPI_INT, self);
       }},
      {"MPI_Bcast at the root", false, [](int* at) { return MPI_Bcast(at, 4, MPI_INT, 0, self); }},
  };
}

// Each rank's goes to a place of its own.
void blocks_of_a_call(Judge& judge) {
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  std::vector<int> counts(size, 2), apart(size), askew(size);
  for (int i = 0; i < size; ++i) apart[i] = 2 * i, askew[i] = i;
  if (size > 1)
    judge.wrong("blocks overlap in a call", "MPI_Allgatherv",
                MPI_Allgatherv(in, 2, MPI_INT, out, counts.data(), askew.data(), MPI_INT, MPI_COMM_WORLD),
                MPI_ERR_BUFFER, "two of the blocks that the call receives share bytes");
  judge.right("blocks side by side", "MPI_Allgatherv",
              MPI_Allgatherv(in, 2, MPI_INT, out, counts.data(), apart.data(), MPI_INT, MPI_COMM_WORLD));
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
        if (!apart && (first.writes || second.writes))
          judge.wrong("overlap", name, code, MPI_ERR_BUFFER, "shares bytes");
        else
          judge.right(apart ? "buffers side by side" : "reads of one buffer", name, code);
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
              // clang-format off
              MPI_Sendrecv(at, 4, MPI_INT, 0, 60, at + 3, 4, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE), MPI_ERR_BUFFER, "share bytes");
  judge.wrong("overlap in a call", "MPI_Allreduce", MPI_Allreduce(at, at + 3, 4, MPI_INT, MPI_SUM, self), MPI_ERR_BUFFER, "share bytes");
  judge.wrong("overlap in a call", "MPI_Iallgather", [&] {
    MPI_Request r;
    return MPI_Iallgather(at, 4, MPI_INT, at + 3, 4, MPI_INT, self, &r);
  }(), MPI_ERR_BUFFER, "share bytes");
  // clang-format on
  blocks_of_a_call(judge);
  judge.right("no overlap in a call", "MPI_Sendrecv_replace",
              MPI_Sendrecv_replace(at, 4, MPI_INT, 0, 60, 0, 60, self, MPI_STATUS_IGNORE));
  judge.right("no overlap in a call", "MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, at, 4, MPI_INT, MPI_SUM, self));
  judge.right("no overlap in a call", "MPI_Sendrecv of nothing",
              MPI_Sendrecv(at, 0, MPI_INT, 0, 60, at, 0, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&odd));
}

// A send whose buffer is freed, or written to, before it is complete: told when it is completed.
void sent_too_late(Judge& judge) {
  constexpr size_t kLong = 1 << 20;
  using Start = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  const std::pair<const char*, Start> sends[] = {{"MPI_Isend", MPI_Isend},
                                                 {"MPI_Issend", MPI_Issend},
                                                 {"MPI_Irsend", MPI_Irsend},
                                                 {"MPI_Send_init", MPI_Send_init}};
  static char received[kLong];
  for (const auto& [name, start] : sends)
    for (const size_t length : {size_t{64}, kLong})
      for (const char* const how : {"freed", "written", "asked about, then written", "kept"}) {
        const Text what = how;
        auto* const sent =
            static_cast<char*>(mmap(nullptr, kLong, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (sent == MAP_FAILED) check::fail(__FILE__, __LINE__, "there is no memory");
        std::fill_n(sent, length, '\1');
        const bool persistent = Text(name) == "MPI_Send_init";
        MPI_Request request, receive;
        OK(MPI_Irecv(received, static_cast<int>(length), MPI_CHAR, 0, 65, self, &receive));
        OK(start(sent, static_cast<int>(length), MPI_CHAR, 0, 65, self, &request));
        if (persistent) OK(MPI_Start(&request));
        const bool asked = what.starts_with("asked");
        if (asked)
          for (int flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        if (what == "freed")
          munmap(sent, kLong);
        else if (what != "kept")
          sent[length - 1] = '\2';
        OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        const Text which = Text(name) + " of " + std::to_string(length) + " bytes, " + what;
        if (what == "freed")
          judge.wrong("send buffer freed", which, code, MPI_ERR_BUFFER, "was freed before the send was complete");
        else if (what == "written")
          judge.wrong("send buffer written", which, code, MPI_ERR_BUFFER, "of the send buffer was written to before");
        else
          judge.right("send buffer kept", which, code);
        for (size_t i = 0; i < length; ++i) CHECK_EQ(received[i], '\1');
        if (persistent) OK(MPI_Request_free(&request));
        if (what != "freed") munmap(sent, kLong);
      }
}

// MPI_Request_get_status has said that it is complete, so that its buffer may be used again: whatever becomes of the
// request.
void asked_about(Judge& judge) {
  for (const Running& first : running()) {
    MPI_Request request;
    first.start(memory, 8, MPI_INT, &request);
    first.end();
    for (int flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    judge.right("no overlap", "MPI_Sendrecv behind MPI_Request_get_status of " + first.name,
                MPI_Sendrecv(in, 8, MPI_INT, 0, 60, memory, 8, MPI_INT, 0, 60, self, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

// What is received by a datatype whose entries overlap.
void overlapping_entries(Judge& judge) {
  int lengths[] = {2, 2}, apart[] = {2, 0}, over[] = {0, 1};
  for (const bool wrong : {false, true}) {
    MPI_Datatype type;
    OK(MPI_Type_indexed(2, lengths, wrong ? over : apart, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    const auto tell = [&](const Text& name, int code) {
      if (wrong)
        judge.wrong("entries overlap", name, code, MPI_ERR_TYPE, "overlap");
      else
        judge.right("entries side by side", name, code);
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

// Nothing is read of a buffer that is for neighbours, where there is none: others may use it.
void for_no_neighbors(Judge& judge) {
  int* const at = in;
  for (const bool lonely : {true, false}) {
    MPI_Comm line;
    const int length = 1, wraps = !lonely;  // a rank alone in its line, which is its own neighbour where that wraps
    MPI_Request used;
    OK(MPI_Cart_create(MPI_COMM_SELF, 1, &length, &wraps, 0, &line));
    OK(MPI_Comm_set_errhandler(line, MPI_ERRORS_RETURN));
    OK(MPI_Irecv(at, 4, MPI_INT, 0, 66, self, &used));
    const int code = MPI_Neighbor_allgather(at, 4, MPI_INT, out, 4, MPI_INT, line);
    if (lonely)
      judge.right("a buffer for no neighbors", "MPI_Neighbor_allgather", code);
    else
      judge.wrong("a buffer for neighbors", "MPI_Neighbor_allgather", code, MPI_ERR_BUFFER, "shares bytes");
    OK(MPI_Send(out, 4, MPI_INT, 0, 66, self));
    OK(MPI_Wait(&used, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&line));
  }
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
         return MPI_Get_accumulate(nullptr, 0, MPI_INT, p, 8, MPI_INT, 0, there(), 8, MPI_INT, MPI_NO_OP, win);
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
      judge.right("no overlap on windows", Text(access.name) + " behind " + name, accesses[1].call(at));
      OK(MPI_Win_flush(0, win));
    }
  // Those with a request end by the same calls, with their request there still, or freed.
  MPI_Request request;
  const Access with_request[] = {
      {"MPI_Rput", false, [&](int* p) { return MPI_Rput(p, 8, MPI_INT, 0, there(), 8, MPI_INT, win, &request); }},
      {"MPI_Rget", true, [&](int* p) { return MPI_Rget(p, 8, MPI_INT, 0, there(), 8, MPI_INT, win, &request); }},
      {"MPI_Raccumulate", false,
       [&](int* p) { return MPI_Raccumulate(p, 8, MPI_INT, 0, there(), 8, MPI_INT, MPI_SUM, win, &request); }},
      {"MPI_Rget_accumulate", true,
       [&](int* p) {
         return MPI_Rget_accumulate(nullptr, 0, MPI_INT, p, 8, MPI_INT, 0, there(), 8, MPI_INT, MPI_NO_OP, win,
                                    &request);
       }},
  };
  for (const Access& access : with_request)
    for (const bool freed : {false, true})
      for (const auto& [name, end] : ends) {
        const Text which = Text(access.name) + (freed ? ", freed, x MPI_Get" : " x MPI_Get");
        OK(access.call(at));
        if (freed)
          OK(MPI_Request_free(&request));
        else
          judge.wrong("overlap on windows", which, accesses[1].call(at), MPI_ERR_BUFFER, "shares bytes");
        OK(end());
        judge.right("no overlap on windows", which + " behind " + name, accesses[1].call(at));
        judge.wrong("overlap on windows", "MPI_Get x MPI_Get behind " + which, accesses[1].call(at), MPI_ERR_BUFFER,
                    "shares bytes");
        if (!freed) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        judge.wrong("overlap on windows", "MPI_Get x MPI_Get behind MPI_Wait of " + which, accesses[1].call(at),
                    MPI_ERR_BUFFER, "shares bytes");
        OK(MPI_Win_flush(0, win));
      }
  // A request that has been asked about is there still, and its operation is complete.
  for (const Access& access : with_request) {
    OK(access.call(at));
    for (int flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    judge.right("no overlap on windows", Text("MPI_Get behind MPI_Request_get_status of ") + access.name,
                accesses[1].call(at));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(0, win));
  }
  // Messages meanwhile.
  OK(MPI_Rget(at, 8, MPI_INT, 0, 0, 8, MPI_INT, win, &request));
  judge.wrong("overlap on windows", "MPI_Rget x MPI_Send", MPI_Send(at, 8, MPI_INT, 0, 77, self), MPI_ERR_BUFFER,
              "shares bytes");
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  judge.right("no overlap on windows", "MPI_Put behind MPI_Rget", accesses[0].call(at));
  OK(MPI_Win_flush_all(win));
  judge.wrong("overlap in a call", "MPI_Fetch_and_op", MPI_Fetch_and_op(at, at, MPI_INT, 0, 0, MPI_SUM, win),
              MPI_ERR_BUFFER, "share bytes");
  judge.right("no overlap in a call", "MPI_Fetch_and_op of MPI_NO_OP",
              MPI_Fetch_and_op(at, at, MPI_INT, 0, 0, MPI_NO_OP, win));
  OK(MPI_Win_flush_all(win));
  // The ends of epochs.
  for (const Access& access : with_request)
    for (const bool all : {true, false}) {
      OK(access.call(at));
      OK(all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(0, win));
      judge.right("no overlap on windows", Text("MPI_Sendrecv behind unlock of ") + access.name,
                  MPI_Sendrecv(in, 8, MPI_INT, 0, 77, at, 8, MPI_INT, 0, 77, self, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(all ? MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) : MPI_Win_lock_all(0, win));
    }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

}  // namespace

void buffers(Judge& judge, bool strict) {
  truncated(judge);
  if (strict) overlapping(judge);
  if (strict) for_no_neighbors(judge);
  if (strict) asked_about(judge);
  if (strict) sent_too_late(judge);
  if (strict) overlapping_entries(judge);
  if (strict) overlapping_on_windows(judge);
}

}  // namespace misuse
