// SPDX-License-Identifier: BSD-3-Clause
// What operations under way read, and the arrays of counts and displacements that collectives are given: changed before
// the program has completed the operation, and left as they are.
#include <algorithm>

#include "file/scratch.hpp"
#include "misuse/misuse.hpp"

namespace misuse {
namespace {

constexpr int kInts = 8;
int sent[kInts], received[kInts];

// An operation that reads `sent`; a persistent one is started, too.
struct Reading {
  Text name, words;
  std::function<int(MPI_Request*)> start;
  bool persistent = false;
};

std::vector<Reading> readings() {
  const Text collective = "byte 28 of the send buffer was written to before the collective was complete";
  // clang-format off
  return {
      {"MPI_Iallgather", collective, [](MPI_Request* r) { return MPI_Iallgather(sent, kInts, MPI_INT, received, kInts, MPI_INT, self, r); }},
      {"MPI_Iallreduce", collective, [](MPI_Request* r) { return MPI_Iallreduce(sent, received, kInts, MPI_INT, MPI_SUM, self, r); }},
      {"MPI_Ibcast at the root", collective, [](MPI_Request* r) { return MPI_Ibcast(sent, kInts, MPI_INT, 0, self, r); }},
      {"MPI_Igather", collective, [](MPI_Request* r) { return MPI_Igather(sent, kInts, MPI_INT, received, kInts, MPI_INT, 0, self, r); }},
      {"MPI_Allreduce_init", collective, [](MPI_Request* r) { return MPI_Allreduce_init(sent, received, kInts, MPI_INT, MPI_SUM, self, MPI_INFO_NULL, r); }, true},
      {"MPI_Isendrecv", "byte 28 of the send buffer was written to before the send was complete",
       [](MPI_Request* r) { return MPI_Isendrecv(sent, kInts, MPI_INT, 0, 4, received, kInts, MPI_INT, 0, 4, self, r); }},
  };
  // clang-format on
}

void written(Judge& judge) {
  for (const Reading& reading : readings())
    for (const Text how : {"written", "asked about, then written", "kept"}) {
      std::fill_n(sent, kInts, 1);
      MPI_Request request;
      OK(reading.start(&request));
      if (reading.persistent) OK(MPI_Start(&request));
      if (how.starts_with("asked"))
        for (int flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
      if (how != "kept") sent[kInts - 1] = 2;
      const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (how == "written")
        judge.wrong("input written", reading.name, code, MPI_ERR_BUFFER, reading.words);
      else
        judge.right("input kept", reading.name + ", " + how, code);
      if (reading.persistent) OK(MPI_Request_free(&request));
    }
}

// ---- arrays

int counts[2], places[2], more_counts[2], more_places[2];

struct Given {
  Text name, argument;
  int* changes;
  std::function<int(MPI_Request*)> start;
};

std::vector<Given> given() {
  const auto gather = [](MPI_Request* r) {
    return MPI_Igatherv(sent, kInts, MPI_INT, received, counts, places, MPI_INT, 0, self, r);
  };
  const auto all = [](MPI_Request* r) {
    return MPI_Ialltoallv(sent, counts, places, MPI_INT, received, more_counts, more_places, MPI_INT, self, r);
  };
  const auto scatter = [](MPI_Request* r) {
    return MPI_Iscatterv(sent, counts, places, MPI_INT, received, kInts, MPI_INT, 0, self, r);
  };
  const auto reduce = [](MPI_Request* r) {
    return MPI_Ireduce_scatter(sent, received, counts, MPI_INT, MPI_SUM, self, r);
  };
  return {{"MPI_Igatherv", "recvcounts", counts, gather},       {"MPI_Igatherv", "displs", places, gather},
          {"MPI_Ialltoallv", "sendcounts", counts, all},        {"MPI_Ialltoallv", "sdispls", places, all},
          {"MPI_Ialltoallv", "recvcounts", more_counts, all},   {"MPI_Ialltoallv", "rdispls", more_places, all},
          {"MPI_Iscatterv", "sendcounts", counts, scatter},     {"MPI_Iscatterv", "displs", places, scatter},
          {"MPI_Ireduce_scatter", "recvcounts", counts, reduce}};
}

void set_arrays() {
  counts[0] = more_counts[0] = kInts;
  places[0] = more_places[0] = 0;
}

void arrays_changed(Judge& judge) {
  for (const Given& each : given())
    for (const bool changes : {true, false}) {
      set_arrays();
      MPI_Request request;
      OK(each.start(&request));
      if (changes) each.changes[0] = 3;
      const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (changes)
        judge.wrong("array changed", each.name, code, MPI_ERR_ARG,
                    "and is 3: arrays of a nonblocking collective stay as they are until it is complete (the standard, "
                    "section 6.12) (argument " +
                        each.argument);
      else
        judge.right("array kept", each.name, code);
    }
  set_arrays();
  MPI_Request request;
  OK(MPI_Allgatherv_init(sent, kInts, MPI_INT, received, counts, places, MPI_INT, self, MPI_INFO_NULL, &request));
  for (const bool changes : {false, true, false}) {
    counts[0] = changes ? 3 : kInts;
    const int code = MPI_Start(&request);
    if (changes)
      judge.wrong("array changed", "MPI_Allgatherv_init", code, MPI_ERR_ARG,
                  "element 0 of the array was 8 and is 3: arrays of a persistent collective stay as they are");
    else
      judge.right("array kept", "MPI_Allgatherv_init", code);
    if (!changes) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&request));
}

// ---- windows, partitions, files

void origins_written(Judge& judge) {
  MPI_Win win;
  int* there;
  OK(MPI_Win_allocate(sizeof sent, sizeof(int), MPI_INFO_NULL, self, &there, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  const Text words = "of the origin buffer was written to before the operation was complete";
  for (const bool changes : {true, false}) {
    const auto tell = [&](const Text& name, int code) {
      if (changes)
        judge.wrong("origin buffer written", name, code, MPI_ERR_BUFFER, words);
      else
        judge.right("origin buffer kept", name, code);
    };
    sent[0] = 1;
    OK(MPI_Put(sent, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    if (changes) sent[0] = 2;
    tell("MPI_Put", MPI_Win_flush(0, win));
    sent[0] = 1;
    OK(MPI_Accumulate(sent, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    if (changes) sent[0] = 2;
    tell("MPI_Accumulate", MPI_Win_flush_local_all(win));
    OK(MPI_Win_flush_all(win));
    sent[0] = 1;
    MPI_Request request;
    OK(MPI_Rput(sent, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
    if (changes) sent[0] = 2;
    tell("MPI_Rput", MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush_all(win));
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

void partitions_written(Judge& judge) {
  MPI_Request send, receive;
  OK(MPI_Psend_init(sent, 2, kInts / 2, MPI_INT, 0, 2, self, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(received, 2, kInts / 2, MPI_INT, 0, 2, self, MPI_INFO_NULL, &receive));
  for (const int changes : {-1, 0, 1, -1}) {  // which partition
    std::fill_n(sent, kInts, 1);
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    sent[kInts / 2] = 3;
    OK(MPI_Pready(0, send));
    sent[kInts - 1] = 3;  // of the partition that is not ready
    OK(MPI_Pready(1, send));
    if (changes >= 0) sent[changes * kInts / 2] = 9;
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    const int code = MPI_Wait(&send, MPI_STATUS_IGNORE);
    if (changes >= 0)
      judge.wrong("partition written", "MPI_Pready", code, MPI_ERR_BUFFER,
                  "byte 0 of partition " + std::to_string(changes) +
                      " was written to before the operation was complete (the standard, section 4.2.2)");
    else
      judge.right("partition kept", "MPI_Pready", code);
  }
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

// A partition that nobody has asked for is the receive's until all have come.
void partitions_used_early(Judge& judge) {
  MPI_Request send, receive;
  OK(MPI_Psend_init(sent, 2, kInts / 2, MPI_INT, 0, 2, self, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(received, 2, kInts / 2, MPI_INT, 0, 2, self, MPI_INFO_NULL, &receive));
  int other = 0;
  const auto pass_on = [&] {
    return MPI_Sendrecv(received, 1, MPI_INT, 0, 3, &other, 1, MPI_INT, 0, 3, self, MPI_STATUS_IGNORE);
  };
  for (const bool asks : {true, false}) {
    judge.right("partition received", "before MPI_Start", pass_on());
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
    judge.wrong("partition used early", "MPI_Sendrecv", pass_on(), MPI_ERR_BUFFER,
                "shares bytes with the receive buffer");
    OK(MPI_Pready(0, send));
    if (asks) {
      for (int flag = 0; !flag;) OK(MPI_Parrived(receive, 0, &flag));
      judge.right("partition received", "MPI_Parrived", pass_on());
    }
    OK(MPI_Pready(1, send));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    judge.right("partition received", "MPI_Wait", pass_on());
  }
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

void written_to_file(Judge& judge, const Text& path) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, self);
  const Text words = "of the buffer was written to before the access to the file was complete";
  for (const bool changes : {true, false}) {
    MPI_Request request;
    sent[0] = 1;
    OK(MPI_File_iwrite_at(file, 0, sent, kInts, MPI_INT, &request));
    if (changes) sent[0] = 2;
    const int at = MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent[0] = 1;
    OK(MPI_File_write_all_begin(file, sent, kInts, MPI_INT));
    if (changes) sent[0] = 2;
    const int split = MPI_File_write_all_end(file, sent, MPI_STATUS_IGNORE);
    if (changes) {
      judge.wrong("buffer of a file written", "MPI_File_iwrite_at", at, MPI_ERR_BUFFER, words);
      judge.wrong("buffer of a file written", "MPI_File_write_all_begin", split, MPI_ERR_BUFFER, words);
    } else {
      judge.right("buffer of a file kept", "MPI_File_iwrite_at", at);
      judge.right("buffer of a file kept", "MPI_File_write_all_begin", split);
    }
  }
  OK(MPI_File_close(&file));
}

}  // namespace

void steady(Judge& judge, int rank, int size) {
  written(judge);
  arrays_changed(judge);
  origins_written(judge);
  partitions_written(judge);
  partitions_used_early(judge);
#ifndef __SANITIZE_THREAD__  // which sees this race, too
  Scratch scratch;
  std::vector<Text> own;
  for (int r = 0; r < size; ++r) own.push_back(scratch.file("steady-" + std::to_string(r)));
  written_to_file(judge, own[static_cast<size_t>(rank)]);
#else
  (void)&written_to_file, (void)rank, (void)size;
#endif
}

}  // namespace misuse
