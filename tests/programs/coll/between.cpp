// SPDX-License-Identifier: BSD-3-Clause
// Collectives between the two groups of an intercommunicator: all fifteen, in each form, between groups of
// every size that the ranks allow, from every root, of no, few and many elements, of types with and without
// gaps, which the two sides may describe differently. NOT_MPICH: 4.0 passes the blocking ones, and ends a
// MPI_Iscatter from a root of the other group with "Invalid communicator".
#include "../check.hpp"

namespace {

enum Form { kBlocking, kNonblocking, kPersistent, kLarge, kForms };

// Given where nothing is significant: Tutti does not look at it there, which others do.
#ifdef OTHER_MPI
const MPI_Datatype kNoType = MPI_INT;
const MPI_Op kNoOp = MPI_SUM;
constexpr int kNoCount = 0;
void* const kNoBuffer = std::malloc(1);
#else
const MPI_Datatype kNoType = MPI_DATATYPE_NULL;
const MPI_Op kNoOp = MPI_OP_NULL;
constexpr int kNoCount = -1;
void* const kNoBuffer = nullptr;
#endif

// Once in the form asked for; a persistent one is started twice.
#define CALL(form, blocking, nonblocking, ...)                    \
  do {                                                            \
    MPI_Request request_ = MPI_REQUEST_NULL;                      \
    if ((form) == kNonblocking) {                                 \
      OK(nonblocking(__VA_ARGS__, &request_));                    \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                 \
    } else if ((form) == kPersistent) {                           \
      OK(blocking##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
      for (int start_ = 0; start_ < 2; ++start_) {                \
        OK(MPI_Start(&request_));                                 \
        OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));               \
      }                                                           \
      OK(MPI_Request_free(&request_));                            \
    } else {                                                      \
      OK(blocking(__VA_ARGS__));                                  \
    }                                                             \
  } while (false)
// Of those whose large-count form takes the same arguments but for arrays.
#define CALL_OR_LARGE(form, blocking, nonblocking, ...) \
  do {                                                  \
    if ((form) == kLarge)                               \
      OK(blocking##_c(__VA_ARGS__));                    \
    else                                                \
      CALL(form, blocking, nonblocking, __VA_ARGS__);   \
  } while (false)

struct Two {
  int group = -1, rank = -1, count = 0, others = 0;  // of mine; and how many the other group has
  MPI_Comm comm = MPI_COMM_NULL;
  int size_of(int which) const { return which == group ? count : others; }
};

// Elements of ints: `ints` of them, `stride` from one element to the next.
struct Type {
  MPI_Datatype type = MPI_INT;
  int ints = 1, stride = 1;
};

int value(int group, int rank, int what, int64_t i) {
  return static_cast<int>(
      check::mix(static_cast<unsigned>(group * 64 + rank), static_cast<unsigned>(what), static_cast<unsigned>(i)) >> 1);
}

// Memory for elements of a type, with what must not be touched between them.
class Buffer {
 public:
  Buffer(const Type& type, int64_t elements)
      : type_(type), data_(static_cast<size_t>(elements * type.stride + 1), kUntouched) {}
  int* data() { return data_.data(); }
  int& at(int64_t i) { return data_[static_cast<size_t>(i / type_.ints * type_.stride + i % type_.ints)]; }
  void check_gaps() const {
    for (size_t i = 0; i < data_.size(); ++i)
      if (static_cast<int>(i) % type_.stride >= type_.ints || i + 1 == data_.size()) CHECK_EQ(data_[i], kUntouched);
  }

 private:
  static constexpr int kUntouched = -77;
  Type type_;
  std::vector<int> data_;
};

// How one side describes `ints` ints: its type, and how many elements of it.
struct Side {
  Type type;
  int count = 0;
};

int root_of(const Two& two, int root_group, int root) {
  return two.group != root_group ? root : two.rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

// `mine`, `theirs` describe the same data. Where nothing is significant nothing of sense is given.
void bcast(const Two& two, const Side& side, int ints, Form form, int root_group, int root) {
  const int given = root_of(two, root_group, root);
  if (given == MPI_PROC_NULL) {
    CALL_OR_LARGE(form, MPI_Bcast, MPI_Ibcast, nullptr, kNoCount, kNoType, given, two.comm);
    return;
  }
  Buffer buffer(side.type, side.count);
  for (int i = 0; given == MPI_ROOT && i < ints; ++i) buffer.at(i) = value(root_group, root, 1, i);
  CALL_OR_LARGE(form, MPI_Bcast, MPI_Ibcast, buffer.data(), side.count, side.type.type, given, two.comm);
  for (int i = 0; i < ints; ++i) CHECK_EQ(buffer.at(i), value(root_group, root, 1, i));
  buffer.check_gaps();
}

void gather_scatter(const Two& two, const Side& side, int ints, Form form, int root_group, int root) {
  const int given = root_of(two, root_group, root);
  if (given == MPI_PROC_NULL) {
    CALL_OR_LARGE(form, MPI_Gather, MPI_Igather, nullptr, kNoCount, kNoType, nullptr, kNoCount, kNoType, given,
                  two.comm);
    CALL_OR_LARGE(form, MPI_Scatter, MPI_Iscatter, nullptr, kNoCount, kNoType, nullptr, kNoCount, kNoType, given,
                  two.comm);
    return;
  }
  if (given == MPI_ROOT) {
    Buffer all(side.type, static_cast<int64_t>(side.count) * two.others);
    CALL_OR_LARGE(form, MPI_Gather, MPI_Igather, nullptr, kNoCount, kNoType, all.data(), side.count, side.type.type,
                  given, two.comm);
    for (int r = 0; r < two.others; ++r)
      for (int i = 0; i < ints; ++i)
        CHECK_EQ(all.at(static_cast<int64_t>(r) * ints + i), value(1 - root_group, r, 2, i));
    all.check_gaps();
    for (int64_t i = 0; i < static_cast<int64_t>(ints) * two.others; ++i) all.at(i) = value(root_group, root, 3, i);
    CALL_OR_LARGE(form, MPI_Scatter, MPI_Iscatter, all.data(), side.count, side.type.type, nullptr, kNoCount, kNoType,
                  given, two.comm);
    return;
  }
  Buffer mine(side.type, side.count);
  for (int i = 0; i < ints; ++i) mine.at(i) = value(two.group, two.rank, 2, i);
  CALL_OR_LARGE(form, MPI_Gather, MPI_Igather, mine.data(), side.count, side.type.type, nullptr, kNoCount, kNoType,
                given, two.comm);
  Buffer got(side.type, side.count);
  CALL_OR_LARGE(form, MPI_Scatter, MPI_Iscatter, nullptr, kNoCount, kNoType, got.data(), side.count, side.type.type,
                given, two.comm);
  for (int i = 0; i < ints; ++i)
    CHECK_EQ(got.at(i), value(root_group, root, 3, static_cast<int64_t>(two.rank) * ints + i));
  got.check_gaps();
}

// Blocks of their own lengths, in falling order with a gap of one between them.
struct Blocks {
  std::vector<int> counts, places;
  std::vector<MPI_Count> large_counts;
  std::vector<MPI_Aint> large_places;
  int total = 0;
  template <class Length>
  Blocks(int n, Length&& length) : counts(static_cast<size_t>(n)), places(static_cast<size_t>(n)) {
    for (int i = n - 1; i >= 0; --i) {
      counts[static_cast<size_t>(i)] = length(i);
      places[static_cast<size_t>(i)] = total;
      total += length(i) + 1;
    }
    large_counts.assign(counts.begin(), counts.end());
    large_places.assign(places.begin(), places.end());
  }
  int count(int i) const { return counts[static_cast<size_t>(i)]; }
  int place(int i) const { return places[static_cast<size_t>(i)]; }
};

int length(int scale, int a, int b) {
  return scale * ((a * 3 + b * 2 + 1) % 4);
}

void gatherv_scatterv(const Two& two, int scale, Form form, int root_group, int root) {
  const int given = root_of(two, root_group, root);
  if (given == MPI_PROC_NULL) {
    if (form == kLarge) {
      OK(MPI_Gatherv_c(nullptr, kNoCount, kNoType, nullptr, nullptr, nullptr, kNoType, given, two.comm));
      OK(MPI_Scatterv_c(nullptr, nullptr, nullptr, kNoType, nullptr, kNoCount, kNoType, given, two.comm));
      return;
    }
    CALL(form, MPI_Gatherv, MPI_Igatherv, nullptr, kNoCount, kNoType, nullptr, nullptr, nullptr, kNoType, given,
         two.comm);
    CALL(form, MPI_Scatterv, MPI_Iscatterv, nullptr, nullptr, nullptr, kNoType, nullptr, kNoCount, kNoType, given,
         two.comm);
    return;
  }
  if (given == MPI_ROOT) {
    const Blocks blocks(two.others, [&](int i) { return length(scale, i, 0); });
    std::vector<int> all(static_cast<size_t>(blocks.total), -77);
    if (form == kLarge)
      OK(MPI_Gatherv_c(nullptr, kNoCount, kNoType, all.data(), blocks.large_counts.data(), blocks.large_places.data(),
                       MPI_INT, given, two.comm));
    else
      CALL(form, MPI_Gatherv, MPI_Igatherv, nullptr, kNoCount, kNoType, all.data(), blocks.counts.data(),
           blocks.places.data(), MPI_INT, given, two.comm);
    for (int r = 0; r < two.others; ++r) {
      for (int i = 0; i < blocks.count(r); ++i)
        CHECK_EQ(all[static_cast<size_t>(blocks.place(r) + i)], value(1 - root_group, r, 4, i));
      CHECK_EQ(all[static_cast<size_t>(blocks.place(r) + blocks.count(r))], -77);
    }
    for (size_t i = 0; i < all.size(); ++i) all[i] = value(root_group, root, 5, static_cast<int64_t>(i));
    if (form == kLarge)
      OK(MPI_Scatterv_c(all.data(), blocks.large_counts.data(), blocks.large_places.data(), MPI_INT, nullptr, kNoCount,
                        kNoType, given, two.comm));
    else
      CALL(form, MPI_Scatterv, MPI_Iscatterv, all.data(), blocks.counts.data(), blocks.places.data(), MPI_INT, nullptr,
           kNoCount, kNoType, given, two.comm);
    return;
  }
  const int n = length(scale, two.rank, 0);
  std::vector<int> mine(static_cast<size_t>(n + 1), -77);
  for (int i = 0; i < n; ++i) mine[static_cast<size_t>(i)] = value(two.group, two.rank, 4, i);
  if (form == kLarge)
    OK(MPI_Gatherv_c(mine.data(), n, MPI_INT, nullptr, nullptr, nullptr, kNoType, given, two.comm));
  else
    CALL(form, MPI_Gatherv, MPI_Igatherv, mine.data(), n, MPI_INT, nullptr, nullptr, nullptr, kNoType, given, two.comm);
  if (form == kLarge)
    OK(MPI_Scatterv_c(nullptr, nullptr, nullptr, kNoType, mine.data(), n, MPI_INT, given, two.comm));
  else
    CALL(form, MPI_Scatterv, MPI_Iscatterv, nullptr, nullptr, nullptr, kNoType, mine.data(), n, MPI_INT, given,
         two.comm);
  const Blocks at_root(two.count, [&](int i) { return length(scale, i, 0); });
  for (int i = 0; i < n; ++i)
    CHECK_EQ(mine[static_cast<size_t>(i)], value(root_group, root, 5, at_root.place(two.rank) + i));
  CHECK_EQ(mine.back(), -77);
}

// What the two groups send each other differs, also in length: `side` describes what mine sends.
void allgather_alltoall(const Two& two, const Side& side, const Side& theirs, int ints, int their_ints, Form form) {
  Buffer mine(side.type, side.count), all(theirs.type, static_cast<int64_t>(theirs.count) * two.others);
  for (int i = 0; i < ints; ++i) mine.at(i) = value(two.group, two.rank, 6, i);
  CALL_OR_LARGE(form, MPI_Allgather, MPI_Iallgather, mine.data(), side.count, side.type.type, all.data(), theirs.count,
                theirs.type.type, two.comm);
  for (int r = 0; r < two.others; ++r)
    for (int i = 0; i < their_ints; ++i)
      CHECK_EQ(all.at(static_cast<int64_t>(r) * their_ints + i), value(1 - two.group, r, 6, i));
  all.check_gaps();

  Buffer out(side.type, static_cast<int64_t>(side.count) * two.others),
      in(theirs.type, static_cast<int64_t>(theirs.count) * two.others);
  for (int64_t i = 0; i < static_cast<int64_t>(ints) * two.others; ++i) out.at(i) = value(two.group, two.rank, 7, i);
  CALL_OR_LARGE(form, MPI_Alltoall, MPI_Ialltoall, out.data(), side.count, side.type.type, in.data(), theirs.count,
                theirs.type.type, two.comm);
  for (int r = 0; r < two.others; ++r)
    for (int i = 0; i < their_ints; ++i)
      CHECK_EQ(in.at(static_cast<int64_t>(r) * their_ints + i),
               value(1 - two.group, r, 7, static_cast<int64_t>(two.rank) * their_ints + i));
  in.check_gaps();
}

void v_forms(const Two& two, int scale, Form form) {
  {
    const int n = length(scale, two.rank, two.group);
    const Blocks in(two.others, [&](int i) { return length(scale, i, 1 - two.group); });
    std::vector<int> mine(static_cast<size_t>(n)), all(static_cast<size_t>(in.total), -77);
    for (int i = 0; i < n; ++i) mine[static_cast<size_t>(i)] = value(two.group, two.rank, 8, i);
    if (form == kLarge)
      OK(MPI_Allgatherv_c(mine.data(), n, MPI_INT, all.data(), in.large_counts.data(), in.large_places.data(), MPI_INT,
                          two.comm));
    else
      CALL(form, MPI_Allgatherv, MPI_Iallgatherv, mine.data(), n, MPI_INT, all.data(), in.counts.data(),
           in.places.data(), MPI_INT, two.comm);
    for (int r = 0; r < two.others; ++r) {
      for (int i = 0; i < in.count(r); ++i)
        CHECK_EQ(all[static_cast<size_t>(in.place(r) + i)], value(1 - two.group, r, 8, i));
      CHECK_EQ(all[static_cast<size_t>(in.place(r) + in.count(r))], -77);
    }
  }
  // From rank a of group g to rank b of the other one.
  const auto between = [&](int group, int a, int b) { return length(scale, a + group, b); };
  const Blocks out(two.others, [&](int i) { return between(two.group, two.rank, i); });
  const Blocks in(two.others, [&](int i) { return between(1 - two.group, i, two.rank); });
  for (const bool typed : {false, true}) {
    std::vector<int> sent(static_cast<size_t>(out.total + 1)), got(static_cast<size_t>(in.total + 1), -77);
    for (int r = 0; r < two.others; ++r)
      for (int i = 0; i < out.count(r); ++i)
        sent[static_cast<size_t>(out.place(r) + i)] = value(two.group, two.rank, 9 + r, i);
    if (!typed) {
      if (form == kLarge)
        OK(MPI_Alltoallv_c(sent.data(), out.large_counts.data(), out.large_places.data(), MPI_INT, got.data(),
                           in.large_counts.data(), in.large_places.data(), MPI_INT, two.comm));
      else
        CALL(form, MPI_Alltoallv, MPI_Ialltoallv, sent.data(), out.counts.data(), out.places.data(), MPI_INT,
             got.data(), in.counts.data(), in.places.data(), MPI_INT, two.comm);
    } else {
      Blocks bytes_out = out, bytes_in = in;
      const std::vector<MPI_Datatype> types(static_cast<size_t>(two.others), MPI_INT);
      for (Blocks* blocks : {&bytes_out, &bytes_in}) {
        for (int& place : blocks->places) place *= static_cast<int>(sizeof(int));
        for (MPI_Aint& place : blocks->large_places) place *= static_cast<MPI_Aint>(sizeof(int));
      }
      if (form == kLarge)
        OK(MPI_Alltoallw_c(sent.data(), out.large_counts.data(), bytes_out.large_places.data(), types.data(),
                           got.data(), in.large_counts.data(), bytes_in.large_places.data(), types.data(), two.comm));
      else
        CALL(form, MPI_Alltoallw, MPI_Ialltoallw, sent.data(), out.counts.data(), bytes_out.places.data(), types.data(),
             got.data(), in.counts.data(), bytes_in.places.data(), types.data(), two.comm);
    }
    for (int r = 0; r < two.others; ++r) {
      for (int i = 0; i < in.count(r); ++i)
        CHECK_EQ(got[static_cast<size_t>(in.place(r) + i)], value(1 - two.group, r, 9 + two.rank, i));
      CHECK_EQ(got[static_cast<size_t>(in.place(r) + in.count(r))], -77);
    }
  }
}

// Maps x -> a x + b modulo a prime, composed: associative, and not commutative.
struct Map {
  int a, b;
  bool operator==(const Map& other) const { return a == other.a && b == other.b; }
};
constexpr int64_t kPrime = 1'000'003;
Map then(const Map& f, const Map& g) {
  return {static_cast<int>(f.a * int64_t{g.a} % kPrime), static_cast<int>((g.a * int64_t{f.b} + g.b) % kPrime)};
}
template <class Count>
void compose_n(const void* in, void* inout, Count n) {
  const Map* left = static_cast<const Map*>(in);
  Map* right = static_cast<Map*>(inout);
  for (Count i = 0; i < n; ++i) right[i] = then(left[i], right[i]);
}
void compose(void* in, void* inout, int* n, MPI_Datatype*) {
  compose_n(in, inout, *n);
}

Map map_of(int group, int rank, int64_t i) {
  return {1 + value(group, rank, 20, i) % 1'000'000, value(group, rank, 21, i) % 1'000'000};
}
Map composed(int group, int ranks, int64_t i) {
  Map all = map_of(group, 0, i);
  for (int r = 1; r < ranks; ++r) all = then(all, map_of(group, r, i));
  return all;
}

struct Reducing {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

void reduce(const Two& two, const Reducing& with, int count, Form form, int root_group, int root) {
  const int given = root_of(two, root_group, root);
  std::vector<Map> in, out(static_cast<size_t>(count) + 1, Map{-7, -7});
  for (int i = 0; i < count; ++i) in.push_back(map_of(two.group, two.rank, i));
  if (given == MPI_PROC_NULL) {
    CALL_OR_LARGE(form, MPI_Reduce, MPI_Ireduce, nullptr, nullptr, kNoCount, kNoType, kNoOp, given, two.comm);
  } else if (given == MPI_ROOT) {
    CALL_OR_LARGE(form, MPI_Reduce, MPI_Ireduce, kNoBuffer, out.data(), count, with.type, with.op, given, two.comm);
    for (int i = 0; i < count; ++i) CHECK(out[static_cast<size_t>(i)] == composed(1 - root_group, two.others, i));
    CHECK((out.back() == Map{-7, -7}));
  } else {
    CALL_OR_LARGE(form, MPI_Reduce, MPI_Ireduce, in.data(), kNoBuffer, count, with.type, with.op, given, two.comm);
  }
}

void reductions(const Two& two, const Reducing& with, int count, Form form) {
  std::vector<Map> in, out(static_cast<size_t>(count) + 1, Map{-7, -7});
  for (int i = 0; i < count; ++i) in.push_back(map_of(two.group, two.rank, i));
  CALL_OR_LARGE(form, MPI_Allreduce, MPI_Iallreduce, in.data(), out.data(), count, with.type, with.op, two.comm);
  for (int i = 0; i < count; ++i) CHECK(out[static_cast<size_t>(i)] == composed(1 - two.group, two.others, i));
  CHECK((out.back() == Map{-7, -7}));

  // Both groups divide vectors of the same length, each among its own ranks.
  const int total = count * two.count * two.others;
  in.clear();
  for (int i = 0; i < total; ++i) in.push_back(map_of(two.group, two.rank, i));
  const int block = total / two.count;
  out.assign(static_cast<size_t>(block) + 1, Map{-7, -7});
  CALL_OR_LARGE(form, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in.data(), out.data(), block, with.type,
                with.op, two.comm);
  for (int i = 0; i < block; ++i)
    CHECK(out[static_cast<size_t>(i)] == composed(1 - two.group, two.others, two.rank * block + i));
  CHECK((out.back() == Map{-7, -7}));

  std::vector<int> counts(static_cast<size_t>(two.count), 0);  // uneven: nothing for some, and the rest for the last
  int given = 0, before = 0;
  for (int r = 0; r + 1 < two.count; ++r)
    given += counts[static_cast<size_t>(r)] = r % 2 ? 0 : std::min(count, total - given);
  counts.back() = total - given;
  for (int r = 0; r < two.rank; ++r) before += counts[static_cast<size_t>(r)];
  const std::vector<MPI_Count> large(counts.begin(), counts.end());
  const int own = counts[static_cast<size_t>(two.rank)];
  out.assign(static_cast<size_t>(own) + 1, Map{-7, -7});
  if (form == kLarge)
    OK(MPI_Reduce_scatter_c(in.data(), out.data(), large.data(), with.type, with.op, two.comm));
  else
    CALL(form, MPI_Reduce_scatter, MPI_Ireduce_scatter, in.data(), out.data(), counts.data(), with.type, with.op,
         two.comm);
  for (int i = 0; i < own; ++i) CHECK(out[static_cast<size_t>(i)] == composed(1 - two.group, two.others, before + i));
  CHECK((out.back() == Map{-7, -7}));
}

// Nobody leaves before the last of both groups has come: each then has a message that was sent before.
void barrier(const Two& two, MPI_Comm others, int late, Form form) {
  int size = -1, rank = -1;
  OK(MPI_Comm_size(others, &size));
  OK(MPI_Comm_rank(others, &rank));
  if (form == kPersistent || form == kNonblocking) {
    CALL(form, MPI_Barrier, MPI_Ibarrier, two.comm);
    return;
  }
  int flag = 1, token = 0;
  std::vector<MPI_Request> sends;
  for (int r = 0; rank == late && r < size; ++r)
    if (r != late) OK(MPI_Isend(&token, 0, MPI_INT, r, 3, others, &sends.emplace_back()));
  CALL(form, MPI_Barrier, MPI_Ibarrier, two.comm);
  OK(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
  if (rank == late) return;
  // (Sent before the sender came, so it is on its way; it need not have been seen yet.)
  do OK(MPI_Iprobe(late, 3, others, &flag, MPI_STATUS_IGNORE));
  while (!flag);
  OK(MPI_Recv(&token, 0, MPI_INT, late, 3, others, MPI_STATUS_IGNORE));
}

// Several outstanding at once, of both directions, completed in another order.
void outstanding(const Two& two) {
  constexpr int kCalls = 12;
  int in[kCalls], out[kCalls];
  std::vector<int> all(static_cast<size_t>(kCalls * two.others));
  MPI_Request requests[2 * kCalls];
  for (int k = 0; k < kCalls; ++k) {
    in[k] = value(two.group, two.rank, 30, k) % 1000;
    OK(MPI_Iallreduce(&in[k], &out[k], 1, MPI_INT, MPI_SUM, two.comm, &requests[2 * k]));
    OK(MPI_Iallgather(&in[k], 1, MPI_INT, &all[static_cast<size_t>(k * two.others)], 1, MPI_INT, two.comm,
                      &requests[2 * k + 1]));
  }
  for (int k = 2 * kCalls - 1; k >= 0; --k) OK(MPI_Wait(&requests[k], MPI_STATUS_IGNORE));
  for (int k = 0; k < kCalls; ++k) {
    int sum = 0;
    for (int r = 0; r < two.others; ++r) {
      const int theirs = value(1 - two.group, r, 30, k) % 1000;
      CHECK_EQ(all[static_cast<size_t>(k * two.others + r)], theirs);
      sum += theirs;
    }
    CHECK_EQ(out[k], sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv);
  Type gaps{MPI_DATATYPE_NULL, 2, 3};
  MPI_Datatype pair;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &gaps.type));
  OK(MPI_Type_commit(&gaps.type));
  OK(MPI_Type_commit(&pair));
  Reducing with{pair, MPI_OP_NULL};
  OK(MPI_Op_create(compose, 0, &with.op));

  for (int cut = 1; cut < program.size(); ++cut) {
    const int group = program.rank() >= cut;
    MPI_Comm local;
    OK(MPI_Comm_split(MPI_COMM_WORLD, group, 0, &local));
    Two two;
    two.group = group;
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, group ? 0 : cut, 0, &two.comm));
    OK(MPI_Comm_rank(two.comm, &two.rank));
    OK(MPI_Comm_size(two.comm, &two.count));
    OK(MPI_Comm_remote_size(two.comm, &two.others));
    const std::vector<int> lengths = program.size() <= 4 ? std::vector<int>{0, 1, 5, 9000} : std::vector<int>{0, 3};
    for (int f = 0; f < kForms; ++f) {
      const auto form = static_cast<Form>(f);
      for (const int n : lengths) {
        const int ints = 2 * n, their_ints = group ? 4 * n : 2 * n, my_ints = group ? 2 * n : 4 * n;
        // Group 0 has the ints one by one, group 1 in pairs with gaps.
        const Side side = group ? Side{gaps, n} : Side{Type(), ints};
        for (int root_group = 0; root_group < 2; ++root_group)
          for (int root = 0; root < two.size_of(root_group); ++root) {
            bcast(two, side, ints, form, root_group, root);
            gather_scatter(two, side, ints, form, root_group, root);
            gatherv_scatterv(two, n, form, root_group, root);
            reduce(two, with, n, form, root_group, root);
          }
        const Side sent = group ? Side{gaps, my_ints / 2} : Side{Type(), my_ints};
        const Side got = group ? Side{Type(), their_ints} : Side{gaps, their_ints / 2};
        allgather_alltoall(two, sent, got, my_ints, their_ints, form);
        v_forms(two, n, form);
        reductions(two, with, std::min(n, 700), form);
      }
      barrier(two, MPI_COMM_WORLD, cut, form);
      outstanding(two);
    }
    OK(MPI_Comm_set_errhandler(two.comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_free(&two.comm));
    OK(MPI_Comm_free(&local));
  }
  OK(MPI_Op_free(&with.op));
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&gaps.type));
}
