// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of requests, handles and buffers, each mistake through each function that can make it,
// and the right twins. Errors are returned here; what a user reads is reports.sh's. Prints for each
// class what was found, what missed, and what accused falsely.   usage: misuse basic|strict
// Under basic only what is always diagnosed.
#include "check.hpp"

#include <array>
#include <map>

namespace {

using Text = std::string;

// ---- the count of it

class Judge {
 public:
  // A call that must fail with this class, in words that hold `words`.
  void wrong(const Text& kind, const Text& name, int code, int wanted, const Text& words = "") {
    const Text text = code == MPI_SUCCESS ? "" : check::error_text(code);
    const bool found = code != MPI_SUCCESS && check::error_class(code) == wanted && text.find(words) != text.npos;
    ++(found ? tallies_[kind].found : tallies_[kind].missed);
    if (!found) std::fprintf(stderr, "missed: %s by %s: \"%s\"\n", kind.c_str(), name.c_str(), text.c_str());
  }
  void right(const Text& kind, const Text& name, int code) {
    ++(code == MPI_SUCCESS ? tallies_[kind].right : tallies_[kind].falsely);
    if (code != MPI_SUCCESS)
      std::fprintf(stderr, "falsely: %s by %s: \"%s\"\n", kind.c_str(), name.c_str(), check::error_text(code).c_str());
  }
  bool report(int rank) const {
    int wrong = 0, all = 0;
    for (const auto& [kind, t] : tallies_) {
      if (rank == 0)
        std::printf("%-32s %4d found %4d missed %4d right %4d accused falsely\n", kind.c_str(), t.found, t.missed,
                    t.right, t.falsely);
      wrong += t.missed + t.falsely;
      all += t.found + t.right;
    }
    if (rank == 0) std::printf("%d in all\n", all + wrong);
    return wrong == 0 && all > 0;
  }

 private:
  struct Tally {
    int found = 0, missed = 0, falsely = 0, right = 0;
  };
  std::map<Text, Tally> tallies_;
};

template <class Handle>
struct User {  // a function that is given the handle
  Text name;
  std::function<int(Handle)> call;
};

int in[64], out[64];
const MPI_Comm self = MPI_COMM_SELF;

// ---- handles that were freed

std::vector<User<MPI_Comm>> users_of_comm() {
  return {
      {"MPI_Comm_size", [](MPI_Comm c) { int n; return MPI_Comm_size(c, &n); }},
      {"MPI_Comm_rank", [](MPI_Comm c) { int n; return MPI_Comm_rank(c, &n); }},
      {"MPI_Comm_set_name", [](MPI_Comm c) { return MPI_Comm_set_name(c, "x"); }},
      {"MPI_Comm_group", [](MPI_Comm c) { MPI_Group g; const int e = MPI_Comm_group(c, &g); if (!e) MPI_Group_free(&g); return e; }},
      {"MPI_Send", [](MPI_Comm c) { return MPI_Send(in, 1, MPI_INT, MPI_PROC_NULL, 1, c); }},
      {"MPI_Recv", [](MPI_Comm c) { return MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 1, c, MPI_STATUS_IGNORE); }},
      {"MPI_Isend", [](MPI_Comm c) { MPI_Request r; const int e = MPI_Isend(in, 1, MPI_INT, MPI_PROC_NULL, 1, c, &r); return e ? e : MPI_Wait(&r, MPI_STATUS_IGNORE); }},
      {"MPI_Irecv", [](MPI_Comm c) { MPI_Request r; const int e = MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, c, &r); return e ? e : MPI_Wait(&r, MPI_STATUS_IGNORE); }},
      {"MPI_Iprobe", [](MPI_Comm c) { int f; return MPI_Iprobe(0, 1, c, &f, MPI_STATUS_IGNORE); }},
      {"MPI_Barrier", [](MPI_Comm c) { return MPI_Barrier(c); }},
      {"MPI_Ibarrier", [](MPI_Comm c) { MPI_Request r; const int e = MPI_Ibarrier(c, &r); return e ? e : MPI_Wait(&r, MPI_STATUS_IGNORE); }},
      {"MPI_Bcast", [](MPI_Comm c) { return MPI_Bcast(in, 1, MPI_INT, 0, c); }},
      {"MPI_Allreduce", [](MPI_Comm c) { return MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, c); }},
      {"MPI_Comm_dup", [](MPI_Comm c) { MPI_Comm d; const int e = MPI_Comm_dup(c, &d); if (!e) MPI_Comm_free(&d); return e; }},
      {"MPI_Comm_split", [](MPI_Comm c) { MPI_Comm d; const int e = MPI_Comm_split(c, 0, 0, &d); if (!e) MPI_Comm_free(&d); return e; }},
      {"MPI_Comm_free", [](MPI_Comm c) { return MPI_Comm_free(&c); }},  // the last: it frees the right twin
  };
}
std::vector<User<MPI_Datatype>> users_of_type() {
  return {
      {"MPI_Type_size", [](MPI_Datatype t) { int n; return MPI_Type_size(t, &n); }},
      {"MPI_Type_contiguous", [](MPI_Datatype t) { MPI_Datatype d; const int e = MPI_Type_contiguous(2, t, &d); if (!e) MPI_Type_free(&d); return e; }},
      {"MPI_Type_dup", [](MPI_Datatype t) { MPI_Datatype d; const int e = MPI_Type_dup(t, &d); if (!e) MPI_Type_free(&d); return e; }},
      {"MPI_Type_commit", [](MPI_Datatype t) { return MPI_Type_commit(&t); }},
      {"MPI_Send", [](MPI_Datatype t) { return MPI_Send(in, 1, t, MPI_PROC_NULL, 1, self); }},
      {"MPI_Recv", [](MPI_Datatype t) { return MPI_Recv(in, 1, t, MPI_PROC_NULL, 1, self, MPI_STATUS_IGNORE); }},
      {"MPI_Sendrecv", [](MPI_Datatype t) { return MPI_Sendrecv(in, 1, t, 0, 1, out, 1, t, 0, 1, self, MPI_STATUS_IGNORE); }},
      {"MPI_Bcast", [](MPI_Datatype t) { return MPI_Bcast(in, 1, t, 0, self); }},
      {"MPI_Allgather", [](MPI_Datatype t) { return MPI_Allgather(in, 1, t, out, 1, t, self); }},
      {"MPI_Ialltoall", [](MPI_Datatype t) { MPI_Request r; const int e = MPI_Ialltoall(in, 1, t, out, 1, t, self, &r); return e ? e : MPI_Wait(&r, MPI_STATUS_IGNORE); }},
      {"MPI_Pack_size", [](MPI_Datatype t) { int n; return MPI_Pack_size(1, t, self, &n); }},
      {"MPI_Type_free", [](MPI_Datatype t) { return MPI_Type_free(&t); }},
  };
}
std::vector<User<MPI_Op>> users_of_op() {
  return {
      {"MPI_Op_commutative", [](MPI_Op o) { int n; return MPI_Op_commutative(o, &n); }},
      {"MPI_Allreduce", [](MPI_Op o) { return MPI_Allreduce(in, out, 1, MPI_INT, o, self); }},
      {"MPI_Reduce", [](MPI_Op o) { return MPI_Reduce(in, out, 1, MPI_INT, o, 0, self); }},
      {"MPI_Scan", [](MPI_Op o) { return MPI_Scan(in, out, 1, MPI_INT, o, self); }},
      {"MPI_Iallreduce", [](MPI_Op o) { MPI_Request r; const int e = MPI_Iallreduce(in, out, 1, MPI_INT, o, self, &r); return e ? e : MPI_Wait(&r, MPI_STATUS_IGNORE); }},
      {"MPI_Reduce_local", [](MPI_Op o) { return MPI_Reduce_local(in, out, 1, MPI_INT, o); }},
      {"MPI_Op_free", [](MPI_Op o) { return MPI_Op_free(&o); }},
  };
}
std::vector<User<MPI_Group>> users_of_group() {
  return {
      {"MPI_Group_size", [](MPI_Group g) { int n; return MPI_Group_size(g, &n); }},
      {"MPI_Group_union", [](MPI_Group g) { MPI_Group h; const int e = MPI_Group_union(g, g, &h); if (!e) MPI_Group_free(&h); return e; }},
      {"MPI_Comm_create", [](MPI_Group g) { MPI_Comm c = MPI_COMM_NULL; const int e = MPI_Comm_create(self, g, &c); if (c != MPI_COMM_NULL) MPI_Comm_free(&c); return e; }},
      {"MPI_Group_free", [](MPI_Group g) { return MPI_Group_free(&g); }},
  };
}
// Where the target is MPI_PROC_NULL no epoch is needed.
std::vector<User<MPI_File>> users_of_file() {
  const auto completed = [](int code, MPI_Request& r) { return code ? code : MPI_Wait(&r, MPI_STATUS_IGNORE); };
  return {
      {"MPI_File_read_at", [](MPI_File f) { return MPI_File_read_at(f, 0, in, 1, MPI_INT, MPI_STATUS_IGNORE); }},
      {"MPI_File_write", [](MPI_File f) { return MPI_File_write(f, out, 1, MPI_INT, MPI_STATUS_IGNORE); }},
      {"MPI_File_write_all", [](MPI_File f) { return MPI_File_write_all(f, out, 1, MPI_INT, MPI_STATUS_IGNORE); }},
      {"MPI_File_write_shared", [](MPI_File f) { return MPI_File_write_shared(f, out, 1, MPI_INT, MPI_STATUS_IGNORE); }},
      {"MPI_File_write_ordered", [](MPI_File f) { return MPI_File_write_ordered(f, out, 1, MPI_INT, MPI_STATUS_IGNORE); }},
      {"MPI_File_iread_at", [=](MPI_File f) { MPI_Request r; return completed(MPI_File_iread_at(f, 0, in, 1, MPI_INT, &r), r); }},
      {"MPI_File_iwrite_all", [=](MPI_File f) { MPI_Request r; return completed(MPI_File_iwrite_all(f, out, 1, MPI_INT, &r), r); }},
      {"MPI_File_write_all_begin", [](MPI_File f) { const int e = MPI_File_write_all_begin(f, out, 1, MPI_INT); return e ? e : MPI_File_write_all_end(f, out, MPI_STATUS_IGNORE); }},
      {"MPI_File_seek", [](MPI_File f) { return MPI_File_seek(f, 0, MPI_SEEK_SET); }},
      {"MPI_File_get_position", [](MPI_File f) { MPI_Offset o; return MPI_File_get_position(f, &o); }},
      {"MPI_File_set_view", [](MPI_File f) { return MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL); }},
      {"MPI_File_get_size", [](MPI_File f) { MPI_Offset o; return MPI_File_get_size(f, &o); }},
      {"MPI_File_get_group", [](MPI_File f) { MPI_Group g; const int e = MPI_File_get_group(f, &g); if (!e) MPI_Group_free(&g); return e; }},
      {"MPI_File_get_info", [](MPI_File f) { MPI_Info i; const int e = MPI_File_get_info(f, &i); if (!e) MPI_Info_free(&i); return e; }},
      {"MPI_File_set_errhandler", [](MPI_File f) { return MPI_File_set_errhandler(f, MPI_ERRORS_RETURN); }},
      {"MPI_File_sync", [](MPI_File f) { return MPI_File_sync(f); }},
      {"MPI_File_close", [](MPI_File f) { return MPI_File_close(&f); }},
  };
}

std::vector<User<MPI_Win>> users_of_win() {
  const auto completed = [](int error, MPI_Request& request) {
    return error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  constexpr int nobody = MPI_PROC_NULL;
  return {
      {"MPI_Put", [](MPI_Win w) { return MPI_Put(in, 1, MPI_INT, nobody, 0, 1, MPI_INT, w); }},
      {"MPI_Get", [](MPI_Win w) { return MPI_Get(in, 1, MPI_INT, nobody, 0, 1, MPI_INT, w); }},
      {"MPI_Accumulate", [](MPI_Win w) { return MPI_Accumulate(in, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, w); }},
      {"MPI_Get_accumulate", [](MPI_Win w) { return MPI_Get_accumulate(in, 1, MPI_INT, out, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, w); }},
      {"MPI_Fetch_and_op", [](MPI_Win w) { return MPI_Fetch_and_op(in, out, MPI_INT, nobody, 0, MPI_SUM, w); }},
      {"MPI_Compare_and_swap", [](MPI_Win w) { return MPI_Compare_and_swap(in, in, out, MPI_INT, nobody, 0, w); }},
      {"MPI_Rput", [=](MPI_Win w) { MPI_Request r; return completed(MPI_Rput(in, 1, MPI_INT, nobody, 0, 1, MPI_INT, w, &r), r); }},
      {"MPI_Rget", [=](MPI_Win w) { MPI_Request r; return completed(MPI_Rget(in, 1, MPI_INT, nobody, 0, 1, MPI_INT, w, &r), r); }},
      {"MPI_Raccumulate", [=](MPI_Win w) { MPI_Request r; return completed(MPI_Raccumulate(in, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, w, &r), r); }},
      {"MPI_Rget_accumulate", [=](MPI_Win w) { MPI_Request r; return completed(MPI_Rget_accumulate(in, 1, MPI_INT, out, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, w, &r), r); }},
      {"MPI_Win_fence", [](MPI_Win w) { return MPI_Win_fence(0, w); }},
      {"MPI_Win_start", [](MPI_Win w) { const int e = MPI_Win_start(MPI_GROUP_EMPTY, 0, w); return e ? e : MPI_Win_complete(w); }},
      {"MPI_Win_post", [](MPI_Win w) { const int e = MPI_Win_post(MPI_GROUP_EMPTY, 0, w); return e ? e : MPI_Win_wait(w); }},
      {"MPI_Win_lock", [](MPI_Win w) { const int e = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w); return e ? e : MPI_Win_unlock(0, w); }},
      {"MPI_Win_lock_all", [](MPI_Win w) { const int e = MPI_Win_lock_all(0, w); return e ? e : MPI_Win_unlock_all(w); }},
      {"MPI_Win_sync", [](MPI_Win w) { return MPI_Win_sync(w); }},
      {"MPI_Win_get_group", [](MPI_Win w) { MPI_Group g; const int e = MPI_Win_get_group(w, &g); if (!e) MPI_Group_free(&g); return e; }},
      {"MPI_Win_set_name", [](MPI_Win w) { return MPI_Win_set_name(w, "x"); }},
      {"MPI_Win_get_attr", [](MPI_Win w) { void* v; int f; return MPI_Win_get_attr(w, MPI_WIN_BASE, &v, &f); }},
      {"MPI_Win_get_info", [](MPI_Win w) { MPI_Info i; const int e = MPI_Win_get_info(w, &i); if (!e) MPI_Info_free(&i); return e; }},
      {"MPI_Win_shared_query", [](MPI_Win w) { MPI_Aint s; int u; void* b; return MPI_Win_shared_query(w, 0, &s, &u, &b); }},
      {"MPI_Win_set_errhandler", [](MPI_Win w) { return MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN); }},
      {"MPI_Win_free", [](MPI_Win w) { return MPI_Win_free(&w); }},
  };
}
std::vector<User<MPI_Request>> users_of_request() {
  return {
      {"MPI_Request_get_status", [](MPI_Request r) { int f; return MPI_Request_get_status(r, &f, MPI_STATUS_IGNORE); }},
      {"MPI_Cancel", [](MPI_Request r) { return MPI_Cancel(&r); }},
      {"MPI_Wait", [](MPI_Request r) { return MPI_Wait(&r, MPI_STATUS_IGNORE); }},
      {"MPI_Test", [](MPI_Request r) { int f; return MPI_Test(&r, &f, MPI_STATUS_IGNORE); }},
      {"MPI_Waitall", [](MPI_Request r) { return MPI_Waitall(1, &r, MPI_STATUSES_IGNORE); }},
      {"MPI_Waitany", [](MPI_Request r) { int i; return MPI_Waitany(1, &r, &i, MPI_STATUS_IGNORE); }},
      {"MPI_Testsome", [](MPI_Request r) { int n, i; return MPI_Testsome(1, &r, &n, &i, MPI_STATUSES_IGNORE); }},
      {"MPI_Request_free", [](MPI_Request r) { return MPI_Request_free(&r); }},
  };
}

void add_up(void* a, void* b, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<int*>(b)[i] += static_cast<int*>(a)[i];
}
MPI_Comm make_comm() { MPI_Comm c; OK(MPI_Comm_dup(self, &c)); OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN)); return c; }
MPI_Datatype make_type() { MPI_Datatype t; OK(MPI_Type_vector(2, 1, 2, MPI_INT, &t)); OK(MPI_Type_commit(&t)); return t; }
MPI_Op make_op() { MPI_Op o; OK(MPI_Op_create(add_up, 1, &o)); return o; }
MPI_Group make_group() { MPI_Group g; OK(MPI_Comm_group(self, &g)); return g; }
MPI_Win make_win() {
  static int memory[4];
  MPI_Win w;
  OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, self, &w));
  OK(MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN));
  return w;
}
// A receive from this rank itself that is complete, but not completed by the program.
MPI_Request make_request() {
  static int places[16], made;
  MPI_Request r;
  OK(MPI_Irecv(&places[made++ % 16], 1, MPI_INT, 0, 9, self, &r));
  OK(MPI_Send(in, 1, MPI_INT, 0, 9, self));
  return r;
}
void free_it(MPI_Comm c) { OK(MPI_Comm_free(&c)); }
void free_it(MPI_Datatype t) { OK(MPI_Type_free(&t)); }
void free_it(MPI_Op o) { OK(MPI_Op_free(&o)); }
void free_it(MPI_Group g) { OK(MPI_Group_free(&g)); }
void free_it(MPI_Win w) { OK(MPI_Win_free(&w)); }
MPI_File make_file() {
  MPI_File f;
  OK(MPI_File_open(self, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  return f;
}
void free_it(MPI_File f) { OK(MPI_File_close(&f)); }
void free_it(MPI_Request r) { OK(MPI_Wait(&r, MPI_STATUS_IGNORE)); }

// By each user: after the handle was freed; after that, with new ones of its kind around; and the
// handle itself, alive.
template <class Handle>
void stale(Judge& judge, const Text& what, int wanted, Handle (*make)(), const std::vector<User<Handle>>& users, bool strict) {
  const Text words = strict ? " already" : "";
  for (const User<Handle>& user : users) {
    Handle handle = make();
    free_it(handle);
    if (strict) {
      judge.wrong("freed " + what, user.name, user.call(handle), wanted, words);
      std::vector<Handle> others;
      for (int i = 0; i < 4; ++i) others.push_back(make());
      judge.wrong("freed " + what + ", others made", user.name, user.call(handle), wanted, words);
      for (Handle other : others) free_it(other);
    }
    handle = make();
    const bool frees = user.name.find("free") != Text::npos || user.name.find("close") != Text::npos ||
                       user.name.find("MPI_Wait") == 0 || user.name.find("MPI_Test") == 0;
    judge.right("live " + what, user.name, user.call(handle));
    if (!frees) free_it(handle);
  }
}

// A type that is freed while another is made of it: in each level surely known.
void freed_but_referred_to(Judge& judge) {
  for (const auto& user : users_of_type()) {
    MPI_Datatype part = make_type(), whole;
    OK(MPI_Type_contiguous(2, part, &whole));
    OK(MPI_Type_commit(&whole));
    MPI_Datatype copy = part;
    OK(MPI_Type_free(&copy));
    judge.wrong("freed type, part of another", user.name, user.call(part), MPI_ERR_TYPE, "freed already");
    judge.right("a type whose part is freed", user.name, user.call(whole));
    if (user.name == "MPI_Type_free") continue;
    // Its contents are handles again, to be freed.
    int integers[8];
    MPI_Aint addresses[8];
    MPI_Datatype parts[8];
    OK(MPI_Type_get_contents(whole, 8, 8, 8, integers, addresses, parts));
    judge.right("a freed type, given out again", user.name, user.call(parts[0]));
    OK(MPI_Type_free(&parts[0]));
    judge.wrong("freed type, part of another", user.name, user.call(part), MPI_ERR_TYPE, "freed already");
    OK(MPI_Type_free(&whole));
  }
}

// ---- types that are not committed

void uncommitted(Judge& judge) {
  const std::vector<User<MPI_Datatype>> users{
      {"MPI_Send", [](MPI_Datatype t) { return MPI_Send(in, 1, t, MPI_PROC_NULL, 1, self); }},
      {"MPI_Ssend", [](MPI_Datatype t) { return MPI_Ssend(in, 1, t, MPI_PROC_NULL, 1, self); }},
      {"MPI_Recv", [](MPI_Datatype t) { return MPI_Recv(in, 1, t, MPI_PROC_NULL, 1, self, MPI_STATUS_IGNORE); }},
      {"MPI_Sendrecv", [](MPI_Datatype t) { return MPI_Sendrecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, out, 1, t, MPI_PROC_NULL, 1, self, MPI_STATUS_IGNORE); }},
      {"MPI_Bcast", [](MPI_Datatype t) { return MPI_Bcast(in, 1, t, 0, self); }},
      {"MPI_Gather", [](MPI_Datatype t) { return MPI_Gather(in, 2, MPI_INT, out, 1, t, 0, self); }},
      {"MPI_Allgather", [](MPI_Datatype t) { return MPI_Allgather(in, 1, t, out, 2, MPI_INT, self); }},
      {"MPI_Alltoallw", [](MPI_Datatype t) { const int one = 1, zero = 0; return MPI_Alltoallw(in, &one, &zero, &t, out, &one, &zero, &t, self); }},
      {"MPI_Pack", [](MPI_Datatype t) { int at = 0; return MPI_Pack(in, 1, t, out, sizeof out, &at, self); }},
  };
  for (const auto& user : users) {
    MPI_Datatype type;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    judge.wrong("uncommitted type", user.name, user.call(type), MPI_ERR_TYPE, "not committed");
    OK(MPI_Type_commit(&type));
    judge.right("committed type", user.name, user.call(type));
    OK(MPI_Type_free(&type));
  }
}

// ---- requests of collectives that are active

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

// ---- partitioned operations

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
              MPI_Precv_init(in, 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, self, MPI_INFO_NULL, &request), MPI_ERR_RANK, "MPI_ANY_SOURCE is not for");
  judge.wrong("partitioned wildcard", "MPI_Precv_init of any tag",
              MPI_Precv_init(in, 2, 2, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &request), MPI_ERR_TAG, "MPI_ANY_TAG is not for");
  judge.wrong("partitioned wildcard", "MPI_Psend_init with any tag",
              MPI_Psend_init(out, 2, 2, MPI_INT, 0, MPI_ANY_TAG, self, MPI_INFO_NULL, &request), MPI_ERR_TAG);
  judge.wrong("no partitions", "MPI_Psend_init", MPI_Psend_init(out, 0, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &request), MPI_ERR_ARG, "partitions");
  judge.wrong("no partitions", "MPI_Precv_init", MPI_Precv_init(in, -1, 2, MPI_INT, 0, 0, self, MPI_INFO_NULL, &request), MPI_ERR_ARG, "partitions");
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
  for (const std::array<int, 4> cut : {std::array{2, 4, 2, 2}, {4, 2, 2, 2}, {2, 2, 2, 4}, {1, 3, 3, 2}, {3, 5, 4, 1}}) {
    Pair pair(cut[0], cut[1], cut[2], cut[3]);
    pair.start();
    OK(MPI_Pready_range(0, cut[0] - 1, pair.send));
    judge.wrong("other totals", "MPI_Precv_init", MPI_Wait(&pair.receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "as many bytes");
    judge.right("other totals sent", "MPI_Psend_init", MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
  }
  for (const std::array<int, 4> cut : {std::array{2, 4, 4, 2}, {4, 2, 2, 4}, {8, 1, 1, 8}, {1, 6, 3, 2}, {3, 4, 4, 3}}) {
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
  const Case cases[] = {{2, 4, 2, 4, MPI_FLOAT, MPI_INT, true},       {4, 2, 2, 2, MPI_INT, MPI_DOUBLE, true},
                        {2, 2, 4, 2, int_and_float, MPI_INT, true},   {2, 2, 4, 2, MPI_DOUBLE, MPI_INT, true},
                        {1, 4, 2, 1, MPI_INT, int_and_float, true},   {4, 2, 2, 2, MPI_INT, two_ints, false},
                        {2, 2, 4, 2, two_ints, MPI_INT, false},       {2, 8, 4, 4, MPI_BYTE, MPI_BYTE, false},
                        {1, 4, 2, 2, int_and_float, int_and_float, false}, {2, 3, 3, 2, MPI_FLOAT, MPI_FLOAT, false}};
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
  judge.wrong("arrival at the sender", "MPI_Parrived", MPI_Parrived(pair.send, 0, &flag), MPI_ERR_REQUEST, "nothing arrives");
  judge.wrong("no such partition", "MPI_Parrived", MPI_Parrived(pair.receive, 2, &flag), MPI_ERR_ARG, "no partition 2");
  judge.wrong("arrival by no request", "MPI_Parrived", MPI_Parrived(MPI_REQUEST_NULL, 0, &flag), MPI_ERR_REQUEST);
  judge.wrong("active partitioned started", "MPI_Start", MPI_Start(&pair.send), MPI_ERR_REQUEST, "is active");
  judge.wrong("partitioned cancelled", "MPI_Cancel", MPI_Cancel(&pair.receive), MPI_ERR_REQUEST, "cannot be cancelled");
  judge.right("arrival", "MPI_Parrived", MPI_Parrived(pair.receive, 1, &flag));
  judge.wrong("freed with partitions missing", "MPI_Request_free", MPI_Request_free(&pair.send), MPI_ERR_REQUEST, "2 of 2 partitions");
  judge.right("range readied", "MPI_Pready_range", MPI_Pready_range(0, 1, pair.send));
  judge.right("partitions received", "MPI_Wait", MPI_Wait(&pair.receive, MPI_STATUS_IGNORE));
  judge.right("partitions sent", "MPI_Wait", MPI_Wait(&pair.send, MPI_STATUS_IGNORE));
  MPI_Request ordinary;
  OK(MPI_Irecv(in, 1, MPI_INT, 0, 3, self, &ordinary));
  judge.wrong("partition of an ordinary request", "MPI_Pready", MPI_Pready(0, ordinary), MPI_ERR_REQUEST, "not that of a partitioned");
  judge.wrong("partition of an ordinary request", "MPI_Parrived", MPI_Parrived(ordinary, 0, &flag), MPI_ERR_REQUEST, "not that of a partitioned");
  OK(MPI_Cancel(&ordinary));
  OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
}

void partitioned_operations(Judge& judge) {
  partitioned_wildcards(judge);
  for (const auto& by : readiers) partitions_readied(judge, by);
  partitions_of_other_totals(judge);
  partitions_of_other_types(judge);
  partitions_asked_for(judge);
}

// ---- persistent requests

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

// ---- messages that are too long

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

// Of operations on windows: until a call says that they are complete here.
void overlapping_on_windows(Judge& judge) {
  static int shown[64];
  MPI_Win win;
  OK(MPI_Win_create(shown, sizeof shown, sizeof(int), MPI_INFO_NULL, self, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  int* const at = memory + 512;
  struct Access {
    const char* name;
    bool writes;
    std::function<int(int*)> call;
  };
  const Access accesses[] = {
      {"MPI_Put", false, [&](int* p) { return MPI_Put(p, 8, MPI_INT, 0, 0, 8, MPI_INT, win); }},
      {"MPI_Get", true, [&](int* p) { return MPI_Get(p, 8, MPI_INT, 0, 8, 8, MPI_INT, win); }},
      {"MPI_Accumulate", false,
       [&](int* p) { return MPI_Accumulate(p, 8, MPI_INT, 0, 16, 8, MPI_INT, MPI_SUM, win); }},
      {"MPI_Get_accumulate", true,
       [&](int* p) {
         return MPI_Get_accumulate(nullptr, 0, MPI_INT, p, 8, MPI_INT, 0, 16, 8, MPI_INT, MPI_NO_OP,
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
        OK(MPI_Win_flush_local_all(win));
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

// Edges that only one of their ends knows of. The handler of MPI_COMM_WORLD returns.
void edges_of_graphs(Judge& judge, int rank, int size) {
  const Text kind = "edges that one end knows";
  if (size < 2) return;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size, twice[] = {before, before};
  const auto adjacent = [&](const Text& name, int indegree, const int* sources, int outdegree, int wanted,
                            const Text& words) {
    MPI_Comm made = MPI_COMM_NULL;
    const int code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources, MPI_UNWEIGHTED, outdegree, &next,
                                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    if (wanted)
      judge.wrong(kind, name, code, wanted, words);
    else
      judge.right(kind, name, code);
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  };
  const Text me = std::to_string(rank);
  adjacent("a ring", 1, &before, 1, 0, "");
  adjacent("nobody receives", 0, nullptr, 1, MPI_ERR_TOPOLOGY, "");
  adjacent("nobody sends", 1, &before, 0, MPI_ERR_TOPOLOGY,
           ", which does not send to it");
  adjacent("received twice", 2, twice, 1, MPI_ERR_TOPOLOGY, "edges");
  adjacent("one rank alone is wrong", 1, &before, rank == 0 ? 0 : 1, MPI_ERR_TOPOLOGY, "");

  // A ring in one direction is a graph, and none whose ranks are mutual neighbours; with two ranks it is both.
  std::vector<int> index, edges;
  for (int r = 0; r < size; ++r) {
    index.push_back(r + 1);
    edges.push_back((r + 1) % size);
  }
  MPI_Comm graph;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &graph));
  OK(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
  const int code = MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, graph);
  if (size == 2)
    judge.right(kind, "MPI_Graph_create", code);
  else
    judge.wrong(kind, "MPI_Graph_create", code, MPI_ERR_TOPOLOGY, "rank " + me + " has other edges to rank ");
  OK(MPI_Comm_free(&graph));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const bool strict = argc > 1 && Text(argv[1]) == "strict";
  Judge judge;
  stale<MPI_Comm>(judge, "communicator", MPI_ERR_COMM, make_comm, users_of_comm(), strict);
  stale<MPI_Datatype>(judge, "type", MPI_ERR_TYPE, make_type, users_of_type(), strict);
  stale<MPI_Op>(judge, "operation", MPI_ERR_OP, make_op, users_of_op(), strict);
  stale<MPI_Group>(judge, "group", MPI_ERR_GROUP, make_group, users_of_group(), strict);
  stale<MPI_File>(judge, "file", MPI_ERR_FILE, make_file, users_of_file(), strict);
  stale<MPI_Win>(judge, "window", MPI_ERR_WIN, make_win, users_of_win(), strict);
  stale<MPI_Request>(judge, "request", MPI_ERR_REQUEST, make_request, users_of_request(), strict);
  freed_but_referred_to(judge);
  uncommitted(judge);
  active_collectives(judge);
  persistent_requests(judge);
  partitioned_operations(judge);
  truncated(judge);
  edges_of_graphs(judge, world.rank(), world.size());
  if (strict) overlapping(judge);
  if (strict) overlapping_on_windows(judge);
  CHECK(judge.report(world.rank()));
  return 0;
}
