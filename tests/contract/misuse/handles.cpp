// SPDX-License-Identifier: BSD-3-Clause
// Handles that were freed, and types that are not committed.
#include "misuse/misuse.hpp"

namespace misuse {
namespace {

std::vector<User<MPI_Comm>> users_of_comm() {
  // clang-format off
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
  // clang-format on
}
// Where the target is MPI_PROC_NULL no epoch is needed.
std::vector<User<MPI_File>> users_of_file() {
  const auto completed = [](int code, MPI_Request& r) { return code ? code : MPI_Wait(&r, MPI_STATUS_IGNORE); };
  // clang-format off
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
  // clang-format on
}

std::vector<User<MPI_Win>> users_of_win() {
  const auto completed = [](int error, MPI_Request& request) {
    return error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  constexpr int nobody = MPI_PROC_NULL;
  // clang-format off
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
  // clang-format on
}

void add_up(void* a, void* b, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) static_cast<int*>(b)[i] += static_cast<int*>(a)[i];
}
// clang-format off
MPI_Comm make_comm() { MPI_Comm c; OK(MPI_Comm_dup(self, &c)); OK(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN)); return c; }
MPI_Datatype make_type() { MPI_Datatype t; OK(MPI_Type_vector(2, 1, 2, MPI_INT, &t)); OK(MPI_Type_commit(&t)); return t; }
MPI_Op make_op() { MPI_Op o; OK(MPI_Op_create(add_up, 1, &o)); return o; }
MPI_Group make_group() { MPI_Group g; OK(MPI_Comm_group(self, &g)); return g; }
// clang-format on
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
// clang-format off
void free_it(MPI_Comm c) { OK(MPI_Comm_free(&c)); }
void free_it(MPI_Datatype t) { OK(MPI_Type_free(&t)); }
void free_it(MPI_Op o) { OK(MPI_Op_free(&o)); }
void free_it(MPI_Group g) { OK(MPI_Group_free(&g)); }
void free_it(MPI_Win w) { OK(MPI_Win_free(&w)); }
// clang-format on
MPI_File make_file() {
  MPI_File f;
  OK(MPI_File_open(self, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  return f;
}
void free_it(MPI_File f) {
  OK(MPI_File_close(&f));
}
void free_it(MPI_Request r) {
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

// By each user: after the handle was freed; after that, with new ones of its kind around; and the
// handle itself, alive.
template <class Handle>
void stale(Judge& judge, const Text& what, int wanted, Handle (*make)(), const std::vector<User<Handle>>& users,
           bool strict) {
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
  // clang-format off
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
  // clang-format on
  for (const auto& user : users) {
    MPI_Datatype type;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    judge.wrong("uncommitted type", user.name, user.call(type), MPI_ERR_TYPE, "not committed");
    OK(MPI_Type_commit(&type));
    judge.right("committed type", user.name, user.call(type));
    OK(MPI_Type_free(&type));
  }
}

}  // namespace

void handles(Judge& judge, bool strict) {
  stale<MPI_Comm>(judge, "communicator", MPI_ERR_COMM, make_comm, users_of_comm(), strict);
  stale<MPI_Datatype>(judge, "type", MPI_ERR_TYPE, make_type, users_of_type(), strict);
  stale<MPI_Op>(judge, "operation", MPI_ERR_OP, make_op, users_of_op(), strict);
  stale<MPI_Group>(judge, "group", MPI_ERR_GROUP, make_group, users_of_group(), strict);
  stale<MPI_File>(judge, "file", MPI_ERR_FILE, make_file, users_of_file(), strict);
  stale<MPI_Win>(judge, "window", MPI_ERR_WIN, make_win, users_of_win(), strict);
  stale<MPI_Request>(judge, "request", MPI_ERR_REQUEST, make_request, users_of_request(), strict);
  freed_but_referred_to(judge);
  uncommitted(judge);
}

}  // namespace misuse
