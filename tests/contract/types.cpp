// SPDX-License-Identifier: BSD-3-Clause
// Messages and operations on windows whose two sides are of different types, through every pair of a
// sending and a receiving call, and collectives that all ranks call equally wrong; and the right twins:
// other factorings, beginnings of what would be received, bytes, one type by two names. Errors are
// returned here; what a user reads is reports.sh's.   usage: types basic|strict
#include <map>

#include "check.hpp"

namespace {

bool strict = false;
using Text = std::string;

struct Tally {
  int found = 0, missed = 0, falsely = 0, right = 0;
};
std::map<Text, Tally> tallies;

// The call of this rank ended with `code`, where it must fail for its types, or must not.
void judge(const Text& kind, const Text& name, int code, bool wrong) {
  Tally& tally = tallies[kind];
  const Text text = code == MPI_SUCCESS ? "" : check::error_text(code);
  const int error = code == MPI_SUCCESS ? MPI_SUCCESS : check::error_class(code);
  const bool told =
      (error == MPI_ERR_TYPE || error == MPI_ERR_IN_STATUS) && text.find("the type signatures") != text.npos;
  const bool well = wrong ? told : code == MPI_SUCCESS;
  ++(wrong ? (well ? tally.found : tally.missed) : (well ? tally.right : tally.falsely));
  if (!well)
    std::fprintf(stderr, "rank %d: %s: %s by %s: \"%s\"\n", check::world_rank, wrong ? "missed" : "falsely",
                 kind.c_str(), name.c_str(), text.c_str());
}

// ---- the calls

struct Data {
  void* at;
  int count;
  MPI_Datatype type;
};
constexpr int kTag = 7;

// Sends to `to` and is through, but for what `end` waits for.
struct Sender {
  Text name;
  bool to_self;  // may come before its receive
  std::function<void(const Data&, int to, MPI_Comm, MPI_Request*)> start;
};
std::vector<Sender> senders() {
  const auto nothing = [](MPI_Request* r) { *r = MPI_REQUEST_NULL; };
  // clang-format off
  return {
      {"MPI_Send", false, [=](const Data& d, int to, MPI_Comm c, MPI_Request* r) { nothing(r); OK(MPI_Send(d.at, d.count, d.type, to, kTag, c)); }},
      {"MPI_Ssend", false, [=](const Data& d, int to, MPI_Comm c, MPI_Request* r) { nothing(r); OK(MPI_Ssend(d.at, d.count, d.type, to, kTag, c)); }},
      {"MPI_Bsend", true, [=](const Data& d, int to, MPI_Comm c, MPI_Request* r) { nothing(r); OK(MPI_Bsend(d.at, d.count, d.type, to, kTag, c)); }},
      {"MPI_Sendrecv", false, [=](const Data& d, int to, MPI_Comm c, MPI_Request* r) {
         nothing(r);
         OK(MPI_Sendrecv(d.at, d.count, d.type, to, kTag, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, c, MPI_STATUS_IGNORE));
       }},
      {"MPI_Sendrecv_replace", false, [=](const Data& d, int to, MPI_Comm c, MPI_Request* r) {
         nothing(r);
         OK(MPI_Sendrecv_replace(d.at, d.count, d.type, to, kTag, MPI_PROC_NULL, 0, c, MPI_STATUS_IGNORE));
       }},
      {"MPI_Isend", true, [](const Data& d, int to, MPI_Comm c, MPI_Request* r) { OK(MPI_Isend(d.at, d.count, d.type, to, kTag, c, r)); }},
      {"MPI_Issend", true, [](const Data& d, int to, MPI_Comm c, MPI_Request* r) { OK(MPI_Issend(d.at, d.count, d.type, to, kTag, c, r)); }},
      {"MPI_Ibsend", true, [](const Data& d, int to, MPI_Comm c, MPI_Request* r) { OK(MPI_Ibsend(d.at, d.count, d.type, to, kTag, c, r)); }},
      {"MPI_Isendrecv", true, [](const Data& d, int to, MPI_Comm c, MPI_Request* r) {
         OK(MPI_Isendrecv(d.at, d.count, d.type, to, kTag, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, c, r));
       }},
      {"MPI_Isendrecv_replace", true, [](const Data& d, int to, MPI_Comm c, MPI_Request* r) {
         OK(MPI_Isendrecv_replace(d.at, d.count, d.type, to, kTag, MPI_PROC_NULL, 0, c, r));
       }},
      {"MPI_Send_init", true, [](const Data& d, int to, MPI_Comm c, MPI_Request* r) {
         OK(MPI_Send_init(d.at, d.count, d.type, to, kTag, c, r));
         OK(MPI_Start(r));
       }},
  };
  // clang-format on
}
void end(MPI_Request* request) {
  OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  if (*request != MPI_REQUEST_NULL) OK(MPI_Request_free(request));
}

// Receives, and gives the code of the call that tells of it. `other`: calls when the message may come.
struct Receiver {
  Text name;
  std::function<int(const Data&, int from, MPI_Comm, const std::function<void()>& other)> receive;
};
std::vector<Receiver> receivers() {
  return {
      {"MPI_Recv",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         other();
         return MPI_Recv(d.at, d.count, d.type, from, kTag, c, MPI_STATUS_IGNORE);
       }},
      {"MPI_Recv of any",
       [](const Data& d, int, MPI_Comm c, auto& other) {
         other();
         MPI_Status status;
         return MPI_Recv(d.at, d.count, d.type, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &status);
       }},
      {"MPI_Irecv before",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         MPI_Request r;
         OK(MPI_Irecv(d.at, d.count, d.type, from, kTag, c, &r));
         other();
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
      {"MPI_Irecv behind",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         other();
         MPI_Request r;
         OK(MPI_Probe(from, kTag, c, MPI_STATUS_IGNORE));
         OK(MPI_Irecv(d.at, d.count, d.type, from, kTag, c, &r));
         return MPI_Waitall(1, &r, MPI_STATUSES_IGNORE);
       }},
      {"MPI_Irecv and MPI_Test",
       [](const Data& d, int, MPI_Comm c, auto& other) {
         MPI_Request r;
         OK(MPI_Irecv(d.at, d.count, d.type, MPI_ANY_SOURCE, kTag, c, &r));
         other();
         for (int flag = 0;;)
           if (const int code = MPI_Test(&r, &flag, MPI_STATUS_IGNORE); code || flag) return code;
       }},
      {"MPI_Irecv and MPI_Request_free",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         MPI_Request r;
         OK(MPI_Irecv(d.at, d.count, d.type, from, kTag, c, &r));
         other();
         for (int flag = 0; !flag;) OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
         return MPI_Request_free(&r);
       }},
      {"MPI_Recv_init",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         MPI_Request r;
         OK(MPI_Recv_init(d.at, d.count, d.type, from, kTag, c, &r));
         OK(MPI_Start(&r));
         other();
         MPI_Status status;
         const int code = MPI_Waitall(1, &r, &status);
         CHECK(r != MPI_REQUEST_NULL);
         OK(MPI_Request_free(&r));
         return code;
       }},
      {"MPI_Mrecv",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         other();
         MPI_Message m;
         OK(MPI_Mprobe(from, kTag, c, &m, MPI_STATUS_IGNORE));
         return MPI_Mrecv(d.at, d.count, d.type, &m, MPI_STATUS_IGNORE);
       }},
      {"MPI_Imrecv",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         other();
         MPI_Message m;
         MPI_Request r;
         OK(MPI_Mprobe(from, kTag, c, &m, MPI_STATUS_IGNORE));
         OK(MPI_Imrecv(d.at, d.count, d.type, &m, &r));
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
      {"MPI_Sendrecv",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         other();
         return MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, d.at, d.count, d.type, from, kTag, c,
                             MPI_STATUS_IGNORE);
       }},
      {"MPI_Sendrecv_replace",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         other();
         return MPI_Sendrecv_replace(d.at, d.count, d.type, MPI_PROC_NULL, 0, from, kTag, c, MPI_STATUS_IGNORE);
       }},
      {"MPI_Isendrecv",
       [](const Data& d, int from, MPI_Comm c, auto& other) {
         MPI_Request r;
         OK(MPI_Isendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, d.at, d.count, d.type, from, kTag, c, &r));
         other();
         return MPI_Wait(&r, MPI_STATUS_IGNORE);
       }},
  };
}

// ---- what is sent and what is received

constexpr size_t kRoom = 1 << 20;
alignas(16) char from_here[kRoom], to_there[kRoom];

struct Pair {
  Text name;
  int sent;
  MPI_Datatype sent_type;
  int received;
  MPI_Datatype received_type;
  bool wrong;
};

MPI_Datatype committed(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  return type;
}
MPI_Datatype contiguous(int count, MPI_Datatype of) {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(count, of, &type));
  return committed(type);
}
MPI_Datatype two(MPI_Datatype first, MPI_Datatype second, MPI_Aint offset) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, offset};
  const MPI_Datatype types[] = {first, second};
  MPI_Datatype type;
  OK(MPI_Type_create_struct(2, lengths, places, types, &type));
  return committed(type);
}
MPI_Datatype strided(MPI_Datatype of, int stride) {
  MPI_Datatype type;
  OK(MPI_Type_vector(3, 1, stride, of, &type));
  return committed(type);
}

std::vector<Pair> pairs() {
  const MPI_Datatype int_double = two(MPI_INT, MPI_DOUBLE, 8), double_int = two(MPI_DOUBLE, MPI_INT, 8);
  const MPI_Datatype int_float = two(MPI_INT, MPI_FLOAT, 4), float_int = two(MPI_FLOAT, MPI_INT, 4);
  const MPI_Datatype twice = contiguous(2, int_double), ints = contiguous(5, MPI_INT),
                     floats = contiguous(5, MPI_FLOAT);
  const MPI_Datatype gaps = strided(MPI_INT, 2), float_gaps = strided(MPI_FLOAT, 2),
                     mixed_bytes = two(MPI_INT, MPI_BYTE, 4);
  std::vector<Pair> all{
      {"int as float", 1, MPI_INT, 1, MPI_FLOAT, true},
      {"int as unsigned", 1, MPI_INT, 1, MPI_UNSIGNED, true},
      {"ints as double", 2, MPI_INT, 1, MPI_DOUBLE, true},
      {"double as ints", 1, MPI_DOUBLE, 2, MPI_INT, true},
      {"double as ints, with more room", 1, MPI_DOUBLE, 9, MPI_INT, true},
      {"chars as int", 4, MPI_CHAR, 1, MPI_INT, strict},
      {"unsigned chars as unsigneds", 16, MPI_UNSIGNED_CHAR, 4, MPI_UNSIGNED, strict},
      {"unsigneds as unsigned chars", 4, MPI_UNSIGNED, 16, MPI_UNSIGNED_CHAR, strict},
      {"8-bit integers as doubles, with more room", 16, MPI_INT8_T, 4, MPI_DOUBLE, strict},
      {"unsigned chars as chars", 3, MPI_UINT8_T, 3, MPI_CHAR, strict},
      {"chars as a struct", 12, MPI_CHAR, 1, int_double, strict},
      {"very many chars as ints", 800000, MPI_CHAR, 200000, MPI_INT, strict},
      {"chars that are no whole int", 6, MPI_CHAR, 2, MPI_INT, true},
      {"complex as floats", 1, MPI_C_FLOAT_COMPLEX, 2, MPI_FLOAT, true},
      {"long as double", 1, MPI_LONG, 1, MPI_DOUBLE, true},
      {"part of a double", 1, MPI_INT, 1, MPI_DOUBLE, true},
      {"derived ints as floats", 1, ints, 5, MPI_FLOAT, true},
      {"strided ints as strided floats", 4, gaps, 4, float_gaps, true},
      {"another order", 1, int_double, 1, double_int, true},
      {"another order, many", 100, int_float, 100, float_int, true},
      {"a struct as its first part", 1, int_double, 3, MPI_INT, true},
      {"not the beginning of a struct", 1, MPI_DOUBLE, 1, int_double, true},
      {"two beginnings of a struct", 2, MPI_INT, 2, int_double, true},
      {"value and index", 1, MPI_DOUBLE_INT, 1, int_double, true},
      {"many ints as floats", 5000, MPI_INT, 5000, MPI_FLOAT, true},
      {"very many ints as floats", 200000, MPI_INT, 200000, MPI_FLOAT, true},
      {"very many derived ints as floats", 40000, ints, 40000, floats, true},
      {"very many, with gaps", 30000, gaps, 30000, float_gaps, true},
      {"the same", 3, MPI_INT, 3, MPI_INT, false},
      {"with more room", 3, MPI_INT, 8, MPI_INT, false},
      {"one type by two names", 2, MPI_INT, 2, MPI_INT32_T, false},
      {"one type by two names", 2, MPI_LONG, 2, MPI_LONG_LONG, false},
      {"one type by two names", 2, MPI_CHAR, 2, MPI_SIGNED_CHAR, false},
      {"Fortran's and C's", 2, MPI_DOUBLE_PRECISION, 2, MPI_DOUBLE, false},
      {"bytes as ints", 8, MPI_BYTE, 2, MPI_INT, false},
      {"ints as bytes", 2, MPI_INT, 8, MPI_BYTE, false},
      {"ints as packed", 2, MPI_INT, 8, MPI_PACKED, false},
      {"packed as doubles", 8, MPI_PACKED, 1, MPI_DOUBLE, false},
      {"with bytes in it", 1, mixed_bytes, 5, MPI_CHAR, false},
      {"nothing", 0, MPI_DOUBLE, 4, MPI_INT, false},
      {"nothing into nothing", 0, MPI_DOUBLE, 0, MPI_INT, false},
      {"other factorings", 2, ints, 10, MPI_INT, false},
      {"other factorings", 6, MPI_INT, 2, gaps, false},
      {"other factorings", 2, int_double, 1, twice, false},
      {"other factorings", 2, twice, 4, int_double, false},
      {"pairs and structs", 2, MPI_2INT, 4, MPI_INT, false},
      {"pairs and structs", 3, MPI_DOUBLE_INT, 3, double_int, false},
      {"a beginning", 1, MPI_INT, 1, int_double, false},
      {"a beginning", 1, MPI_DOUBLE, 2, double_int, false},
      {"a beginning", 1, int_double, 1, twice, false},
      {"a beginning", 3, int_double, 2, twice, false},
      {"a beginning", 1, MPI_INT, 1, gaps, false},
      {"much", 5000, MPI_INT, 1000, ints, false},
      {"very much", 200000, MPI_FLOAT, 40000, floats, false},
      {"very much, with gaps", 30000, gaps, 18000, ints, false},
      {"very much of a mixture", 20000, int_float, 20001, int_float, false},
  };
  return all;
}

void messages(int rank, int size) {
  MPI_Comm world, self;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_dup(MPI_COMM_SELF, &self));
  for (MPI_Comm comm : {world, self}) OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  for (const Pair& pair : pairs())
    for (const Sender& sender : senders())
      for (const Receiver& receiver : receivers()) {
        const Data out{from_here, pair.sent, pair.sent_type}, in{to_there, pair.received, pair.received_type};
        const Text name = sender.name + " x " + receiver.name;
        MPI_Request request = MPI_REQUEST_NULL;
        // Each rank but the last sends to the next one.
        if (rank < size - 1) sender.start(out, rank + 1, world, &request);
        if (rank > 0) judge(pair.name, name, receiver.receive(in, rank - 1, world, [] {}), pair.wrong);
        end(&request);
        if (!sender.to_self) continue;
        const int code = receiver.receive(in, 0, self, [&] { sender.start(out, 0, self, &request); });
        judge(pair.name, name + " to itself", code, pair.wrong);
        end(&request);
      }
  int size_of_buffer;
  void* buffer;
  OK(MPI_Buffer_detach(&buffer, &size_of_buffer));
  for (MPI_Comm comm : {world, self}) OK(MPI_Comm_free(&comm));
}

// ---- windows: only what fills its target exactly

void windows(int rank, int size) {
  MPI_Win win;
  static char memory[4096];
  OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  const int to = (rank + 1) % size;
  char* const at = from_here;
  const auto completed = [](int code, MPI_Request* r) { return code ? code : MPI_Wait(r, MPI_STATUS_IGNORE); };
  for (const Pair& p : pairs()) {
    int sent, received;
    OK(MPI_Type_size(p.sent_type, &sent));
    OK(MPI_Type_size(p.received_type, &received));
    if (p.sent * sent != p.received * received || p.sent * sent > 1024) continue;
    const auto tell = [&](const char* name, int code) {
      judge(p.name + ", on windows", name, code, p.wrong);
      OK(MPI_Win_flush_all(win));
    };
    MPI_Request r;
    tell("MPI_Put", MPI_Put(at, p.sent, p.sent_type, to, 0, p.received, p.received_type, win));
    tell("MPI_Get", MPI_Get(at, p.sent, p.sent_type, to, 0, p.received, p.received_type, win));
    tell("MPI_Rput", completed(MPI_Rput(at, p.sent, p.sent_type, to, 0, p.received, p.received_type, win, &r), &r));
    tell("MPI_Rget", completed(MPI_Rget(at, p.sent, p.sent_type, to, 0, p.received, p.received_type, win, &r), &r));
  }
  // Accumulating wants one predefined type on each side.
  const struct {
    const char* name;
    MPI_Datatype here, there;
    bool wrong;
  } updates[] = {
      {"int as float", MPI_INT, MPI_FLOAT, true},
      {"int as unsigned", MPI_INT, MPI_UNSIGNED, true},
      {"long as double", MPI_LONG, MPI_DOUBLE, true},
      {"the same", MPI_INT, MPI_INT, false},
      {"one type by two names", MPI_INT, MPI_INT32_T, false},
      {"one type by two names", MPI_LONG, MPI_LONG_LONG, false},
  };
  char* const result = to_there;
  for (const auto& u : updates) {
    const auto tell = [&](const char* name, int code) {
      judge(Text(u.name) + ", accumulating", name, code, u.wrong);
      OK(MPI_Win_flush_all(win));
    };
    MPI_Request r;
    for (const MPI_Op op : {MPI_SUM, MPI_REPLACE}) {
      tell("MPI_Accumulate", MPI_Accumulate(at, 2, u.here, to, 0, 2, u.there, op, win));
      tell("MPI_Raccumulate", completed(MPI_Raccumulate(at, 2, u.here, to, 0, 2, u.there, op, win, &r), &r));
      tell("MPI_Get_accumulate, origin",
           MPI_Get_accumulate(at, 2, u.here, result, 2, u.there, to, 0, 2, u.there, op, win));
      tell("MPI_Get_accumulate, result",
           MPI_Get_accumulate(at, 2, u.there, result, 2, u.here, to, 0, 2, u.there, op, win));
      tell("MPI_Rget_accumulate",
           completed(MPI_Rget_accumulate(at, 2, u.here, result, 2, u.there, to, 0, 2, u.there, op, win, &r), &r));
    }
    tell("MPI_Get_accumulate of MPI_NO_OP",
         MPI_Get_accumulate(nullptr, 0, MPI_BYTE, result, 2, u.here, to, 0, 2, u.there, MPI_NO_OP, win));
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

// ---- collectives: what a rank sends itself

constexpr int kMost = 8;
struct Sides {
  MPI_Datatype in, out;
  int in_count, out_count;
};
struct Collective {
  Text name;
  std::function<int(const Sides&, MPI_Comm, MPI_Request*)> call;  // MPI_REQUEST_NULL behind a blocking one
};

std::vector<Collective> collectives() {
  static int in_counts[kMost], out_counts[kMost], places[kMost], bytes[kMost];
  static MPI_Datatype in_types[kMost], out_types[kMost];
  std::vector<Collective> all;
  const auto add = [&](const char* name, auto call) {
    all.push_back({name, [call](const Sides& s, MPI_Comm c, MPI_Request* r) {
                     for (int i = 0; i < kMost; ++i) {
                       in_counts[i] = s.in_count, out_counts[i] = s.out_count;
                       places[i] = 16 * i, bytes[i] = 256 * i;
                       in_types[i] = s.in, out_types[i] = s.out;
                     }
                     *r = MPI_REQUEST_NULL;
                     return call(s, c, r);
                   }});
  };
  // clang-format off
#define THREE(Name, IName, ...)                                                                                        \
  add("MPI_" #Name, [](const Sides& s, MPI_Comm c, MPI_Request*) { (void)s; return MPI_##Name(__VA_ARGS__, c); });     \
  add("MPI_" #IName, [](const Sides& s, MPI_Comm c, MPI_Request* r) { (void)s; return MPI_##IName(__VA_ARGS__, c, r); }); \
  add("MPI_" #Name "_init", [](const Sides& s, MPI_Comm c, MPI_Request* r) {                                           \
    (void)s;                                                                                                           \
    const int code = MPI_##Name##_init(__VA_ARGS__, c, MPI_INFO_NULL, r);                                              \
    return code ? code : MPI_Start(r);                                                                                 \
  })
  THREE(Gather, Igather, from_here, s.in_count, s.in, to_there, s.out_count, s.out, 0);
  // clang-format on
  THREE(Gatherv, Igatherv, from_here, s.in_count, s.in, to_there, out_counts, places, s.out, 0);
  THREE(Scatter, Iscatter, from_here, s.in_count, s.in, to_there, s.out_count, s.out, 0);
  THREE(Scatterv, Iscatterv, from_here, in_counts, places, s.in, to_there, s.out_count, s.out, 0);
  THREE(Allgather, Iallgather, from_here, s.in_count, s.in, to_there, s.out_count, s.out);
  THREE(Allgatherv, Iallgatherv, from_here, s.in_count, s.in, to_there, out_counts, places, s.out);
  THREE(Alltoall, Ialltoall, from_here, s.in_count, s.in, to_there, s.out_count, s.out);
  THREE(Alltoallv, Ialltoallv, from_here, in_counts, places, s.in, to_there, out_counts, places, s.out);
  THREE(Alltoallw, Ialltoallw, from_here, in_counts, bytes, in_types, to_there, out_counts, bytes, out_types);
  return all;
}

void equally_wrong() {
  const struct {
    const char* name;
    Sides sides;
    bool wrong;
  } cases[] = {
      {"double as int", {MPI_DOUBLE, MPI_INT, 1, 1}, true},
      {"float as int", {MPI_FLOAT, MPI_INT, 2, 2}, true},
      {"more than is received", {MPI_INT, MPI_INT, 3, 2}, true},
      {"less than is received", {MPI_INT, MPI_INT, 1, 2}, true},
      {"the same", {MPI_INT, MPI_INT, 2, 2}, false},
      {"one type by two names", {MPI_INT, MPI_INT32_T, 2, 2}, false},
      {"another factoring", {MPI_2INT, MPI_INT, 1, 2}, false},
      {"bytes", {MPI_BYTE, MPI_INT, 8, 2}, false},
      {"nothing", {MPI_DOUBLE, MPI_INT, 0, 0}, false},
  };
  for (const Collective& each : collectives())
    for (const auto& c : cases) {
      MPI_Comm comm;
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
      OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      MPI_Request request;
      int code = each.call(c.sides, comm, &request);
      if (!code && request != MPI_REQUEST_NULL) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      const Text text = code ? check::error_text(code) : "";
      // Of a rooted one the root alone has two sides; the others may be through by then.
      const int failed[] = {code != 0, code != 0 && text.find("sends itself") == text.npos};
      int all[2];
      OK(MPI_Allreduce(failed, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
      Tally& tally = tallies[Text(c.name) + ", all ranks alike"];
      const bool well = c.wrong ? all[0] && !all[1] : !all[0];
      ++(c.wrong ? (well ? tally.found : tally.missed) : (well ? tally.right : tally.falsely));
      if (!well && check::world_rank == 0)
        std::fprintf(stderr, "%s of %s: \"%s\"\n", each.name.c_str(), c.name, text.c_str());
      if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
      OK(MPI_Comm_free(&comm));
    }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  strict = argc > 1 && Text(argv[1]) == "strict";
  messages(world.rank(), world.size());
  windows(world.rank(), world.size());
  equally_wrong();
  int failed = 0, found = 0;
  for (const auto& [kind, t] : tallies) {
    if (world.rank() == world.size() - 1)
      std::printf("%-40s %4d found %4d missed %4d right %4d accused falsely\n", kind.c_str(), t.found, t.missed,
                  t.right, t.falsely);
    failed += t.missed + t.falsely;
    found += t.found;
  }
  CHECK(failed == 0 && found > 0);
  return 0;
}
