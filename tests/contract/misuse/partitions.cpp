// SPDX-License-Identifier: BSD-3-Clause
// Partitioned operations.
#include <array>

#include "misuse/misuse.hpp"

namespace misuse {
namespace {

struct Pair {
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
  // `sent` and `received` partitions, and how many elements each of them has.
  Pair(int sent, int of, int received, int of_these, MPI_Datatype sent_type = MPI_INT,
       MPI_Datatype received_type = MPI_INT) {
    OK(MPI_Psend_init(out, sent, of, sent_type, 0, 2, self, MPI_INFO_NULL, &send));
    OK(MPI_Precv_init(in, received, of_these, received_type, 0, 2, self, MPI_INFO_NULL, &receive));
  }
  ~Pair() {
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
  }
  void start() {
    OK(MPI_Start(&send));
    OK(MPI_Start(&receive));
  }
};

// Makes partition `i` ready in one of three ways.
const std::vector<User<std::pair<int, MPI_Request>>> readiers = {
    {"MPI_Pready", [](std::pair<int, MPI_Request> p) { return MPI_Pready(p.first, p.second); }},
    {"MPI_Pready_range", [](std::pair<int, MPI_Request> p) { return MPI_Pready_range(p.first, p.first, p.second); }},
    {"MPI_Pready_list", [](std::pair<int, MPI_Request> p) { return MPI_Pready_list(1, &p.first, p.second); }}};

void partitioned_wildcards(Judge& judge) {
  MPI_Request request = MPI_REQUEST_NULL;
  judge.wrong("partitioned wildcard", "MPI_Precv_init of any source",
              MPI_Precv_init(in, 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, self, MPI_INFO_NULL, &request), MPI_ERR_RANK,
              "MPI_ANY_SOURCE is not for");
  judge.wrong("partitioned wildcard", "MPI_Precv_init of any tag",
              MPI_Precv_init(in, 2, 2, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &request), MPI_ERR_TAG,
              "MPI_ANY_TAG is not for");
  judge.wrong("partitioned wildcard", "MPI_Psend_init with any tag",
              MPI_Psend_init(out, 2, 2, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &request), MPI_ERR_TAG);
  judge.wrong("less than no partitions", "MPI_Psend_init",
              MPI_Psend_init(out, -1, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &request), MPI_ERR_ARG, "partitions");
  judge.wrong("less than no partitions", "MPI_Precv_init",
              MPI_Precv_init(in, -1, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &request), MPI_ERR_ARG, "partitions");
}

void partitions_readied(Judge& judge, const User<std::pair<int, MPI_Request>>& by) {
  Pair pair(4, 2, 2, 4);
  judge.wrong("readied before the start", by.name, by.call({0, pair.send}), MPI_ERR_REQUEST, "before MPI_Start");
  pair.start();
  judge.right("partition readied", by.name, by.call({0, pair.send}));
  judge.wrong("readied twice", by.name, by.call({0, pair.send}), MPI_ERR_ARG, "ready already");
  judge.wrong("no such partition", by.name, by.call({4, pair.send}), MPI_ERR_ARG, "no partition 4");
  judge.wrong("no such partition", by.name, by.call({-1, pair.send}), MPI_ERR_ARG, "no partition -1");
  judge.wrong("readied at the receiver", by.name, by.call({0, pair.receive}), MPI_ERR_REQUEST, "MPI_Precv_init");
  judge.wrong("readied by no request", by.name, by.call({0, MPI_REQUEST_NULL}), MPI_ERR_REQUEST, "null");
  for (int i = 1; i < 4; ++i) judge.right("partition readied", by.name, by.call({i, pair.send}));
  judge.right("partitions sent", by.name, MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
  judge.right("partitions received", by.name, MPI_Wait(&pair.receive, MPI_STATUS_IGNORE));
  judge.wrong("readied after the end", by.name, by.call({0, pair.send}), MPI_ERR_REQUEST, "MPI_Start");
}

void partitions_of_other_totals(Judge& judge) {
  for (const std::array<int, 4> cut :
       {std::array{2, 4, 2, 2}, {4, 2, 2, 2}, {2, 2, 2, 4}, {1, 3, 3, 2}, {3, 5, 4, 1}}) {
    Pair pair(cut[0], cut[1], cut[2], cut[3]);
    pair.start();
    OK(MPI_Pready_range(0, cut[0] - 1, pair.send));
    judge.wrong("other totals", "MPI_Precv_init", MPI_Wait(&pair.receive, MPI_STATUS_IGNORE),
                cut[0] * cut[1] > cut[2] * cut[3] ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                cut[0] * cut[1] > cut[2] * cut[3] ? "bytes less than it sends: both sides must speak of as many bytes"
                                                  : "bytes more than it sends: both sides must speak of as many bytes");
    judge.right("other totals sent", "MPI_Psend_init", MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
  }
  for (const std::array<int, 4> cut :
       {std::array{2, 4, 4, 2}, {4, 2, 2, 4}, {8, 1, 1, 8}, {1, 6, 3, 2}, {3, 4, 4, 3}}) {
    Pair pair(cut[0], cut[1], cut[2], cut[3]);
    pair.start();
    OK(MPI_Pready_range(0, cut[0] - 1, pair.send));
    judge.right("equal totals", "MPI_Precv_init", MPI_Wait(&pair.receive, MPI_STATUS_IGNORE));
    judge.right("equal totals", "MPI_Psend_init", MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
  }
}

// As many bytes of other types, in each round; and those that any type fits, or that are the same in other words.
void partitions_of_other_types(Judge& judge) {
  MPI_Datatype two_ints, int_and_float;
  OK(MPI_Type_contiguous(2, MPI_INT, &two_ints));
  OK(MPI_Type_commit(&two_ints));
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 4};
  const MPI_Datatype parts[] = {MPI_INT, MPI_FLOAT};
  OK(MPI_Type_create_struct(2, lengths, places, parts, &int_and_float));
  OK(MPI_Type_commit(&int_and_float));
  struct Case {
    int sent, of, received, of_these;
    MPI_Datatype sent_type, received_type;
    bool wrong;
  };
  // clang-format off
  const Case cases[] = {{2, 4, 2, 4, MPI_FLOAT, MPI_INT, true},       {4, 2, 2, 2, MPI_INT, MPI_DOUBLE, true},
                        {2, 2, 4, 2, int_and_float, MPI_INT, true},   {2, 2, 4, 2, MPI_DOUBLE, MPI_INT, true},
                        {1, 4, 2, 1, MPI_INT, int_and_float, true},   {4, 2, 2, 2, MPI_INT, two_ints, false},
                        {2, 2, 4, 2, two_ints, MPI_INT, false},       {2, 8, 4, 4, MPI_BYTE, MPI_BYTE, false},
                        {1, 4, 2, 2, int_and_float, int_and_float, false}, {2, 3, 3, 2, MPI_FLOAT, MPI_FLOAT, false}};
  // clang-format on
  for (const Case& c : cases) {
    Pair pair(c.sent, c.of, c.received, c.of_these, c.sent_type, c.received_type);
    for (int round = 0; round < 2; ++round) {
      pair.start();
      OK(MPI_Pready_range(0, c.sent - 1, pair.send));
      const int code = MPI_Wait(&pair.receive, MPI_STATUS_IGNORE);
      if (c.wrong)
        judge.wrong("other partitioned types", "MPI_Precv_init", code, MPI_ERR_TYPE, "the type signatures");
      else
        judge.right("partitioned types", "MPI_Precv_init", code);
      judge.right("partitioned types", "MPI_Psend_init", MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
    }
  }
  OK(MPI_Type_free(&two_ints));
  OK(MPI_Type_free(&int_and_float));
}

void partitions_asked_for(Judge& judge) {
  int flag = 0;
  Pair pair(2, 2, 2, 2);
  pair.start();
  judge.wrong("arrival at the sender", "MPI_Parrived", MPI_Parrived(pair.send, 0, &flag), MPI_ERR_REQUEST,
              "nothing arrives");
  judge.wrong("no such partition", "MPI_Parrived", MPI_Parrived(pair.receive, 2, &flag), MPI_ERR_ARG, "no partition 2");
  judge.right("arrival by no request", "MPI_Parrived",
              MPI_Parrived(MPI_REQUEST_NULL, 0, &flag));  // as by an inactive one
  judge.wrong("active partitioned started", "MPI_Start", MPI_Start(&pair.send), MPI_ERR_REQUEST, "is active");
  judge.wrong("partitioned cancelled", "MPI_Cancel", MPI_Cancel(&pair.receive), MPI_ERR_REQUEST, "cannot be cancelled");
  judge.right("arrival", "MPI_Parrived", MPI_Parrived(pair.receive, 1, &flag));
  judge.wrong("freed with partitions missing", "MPI_Request_free", MPI_Request_free(&pair.send), MPI_ERR_REQUEST,
              "2 of 2 partitions");
  judge.right("range readied", "MPI_Pready_range", MPI_Pready_range(0, 1, pair.send));
  judge.right("partitions received", "MPI_Wait", MPI_Wait(&pair.receive, MPI_STATUS_IGNORE));
  judge.right("partitions sent", "MPI_Wait", MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
  MPI_Request ordinary;
  OK(MPI_Irecv(in, 1, MPI_INT, 0, 3, self, &ordinary));
  judge.wrong("partition of an ordinary request", "MPI_Pready", MPI_Pready(0, ordinary), MPI_ERR_REQUEST,
              "not that of a partitioned");
  judge.wrong("partition of an ordinary request", "MPI_Parrived", MPI_Parrived(ordinary, 0, &flag), MPI_ERR_REQUEST,
              "not that of a partitioned");
  OK(MPI_Cancel(&ordinary));
  OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
}

}  // namespace

void partitions(Judge& judge) {
  partitioned_wildcards(judge);
  for (const auto& by : readiers) partitions_readied(judge, by);
  partitions_of_other_totals(judge);
  partitions_of_other_types(judge);
  partitions_asked_for(judge);
}

}  // namespace misuse
