// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of sessions, one case for each name, and its right twin: sessions.py runs `NAME wrong` and
// `NAME right` on two ranks.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

bool wrong = false;
int rank = -1;

MPI_Session begin(MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL) {
  MPI_Session made;
  MPI_Session_init(MPI_INFO_NULL, errhandler, &made);
  return made;
}
MPI_Group everybody(MPI_Session session) {
  MPI_Group made;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &made);
  MPI_Group_rank(made, &rank);
  return made;
}
MPI_Comm comm_of(MPI_Session session, const char* tag) {
  MPI_Group group = everybody(session);
  MPI_Comm made;
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
  return made;
}
void message(MPI_Comm comm) {
  int data = 1;
  if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, 0, comm);
  if (rank == 1) MPI_Recv(&data, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}

void pending_receive() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  int data = 0, sent = 1;
  MPI_Request request;
  MPI_Irecv(&data, 1, MPI_INT, rank, 0, comm, &request);
  if (wrong) MPI_Session_finalize(&session);
  MPI_Send(&sent, 1, MPI_INT, rank, 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void pending_collective() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  MPI_Request request;
  if (rank == 0 || !wrong) MPI_Ibarrier(comm, &request);
  if (wrong && rank == 0) MPI_Session_finalize(&session);
  if (wrong && rank == 1) {
    int data;
    MPI_Recv(&data, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void pending_of_two() {  // the other session has nothing to do with it
  MPI_Session session = begin(), other = begin();
  MPI_Comm comm = comm_of(session, "t");
  int data = 0, sent = 1;
  MPI_Request request;
  MPI_Irecv(&data, 1, MPI_INT, rank, 0, comm, &request);
  MPI_Session_finalize(wrong ? &session : &other);
  MPI_Send(&sent, 1, MPI_INT, rank, 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void twice() {
  MPI_Session session = begin();
  MPI_Session_finalize(&session);
  if (wrong) MPI_Session_finalize(&session);
}
void stale_copy() {
  MPI_Session session = begin(), kept = begin(), copy = session;
  MPI_Session_finalize(&session);
  int count = 0;
  MPI_Session_get_num_psets(wrong ? copy : kept, MPI_INFO_NULL, &count);
  MPI_Session_finalize(&kept);
}
void after_the_last() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  if (!wrong) {
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  }
  MPI_Session_finalize(&session);
  if (wrong) MPI_Barrier(comm);
}
void world_without_init() {
  MPI_Session session = begin();
  if (!wrong) MPI_Init(nullptr, nullptr);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  MPI_Session_finalize(&session);
}
void self_after_finalize() {
  MPI_Session session = begin();
  MPI_Init(nullptr, nullptr);
  if (!wrong) MPI_Barrier(MPI_COMM_SELF);
  MPI_Finalize();
  if (wrong) MPI_Barrier(MPI_COMM_SELF);
  MPI_Session_finalize(&session);
}
void init_after_finalize() {
  MPI_Init(nullptr, nullptr);
  MPI_Finalize();
  if (wrong) {
    MPI_Init(nullptr, nullptr);
  } else {
    MPI_Session session = begin();
    MPI_Session_finalize(&session);
  }
}
void unknown_pset() {
  MPI_Session session = begin();
  MPI_Group group;
  MPI_Group_from_session_pset(session, wrong ? "mpi://WROLD" : "MPI://world", &group);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}
void not_a_member() {
  MPI_Session session = begin();
  MPI_Group all = everybody(session), first;
  int none[1] = {0};
  MPI_Group_incl(all, 1, none, &first);
  MPI_Comm comm = MPI_COMM_NULL;
  if (rank == 0 || wrong) MPI_Comm_create_from_group(first, "t", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Group_free(&first);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}
void on_comm(MPI_Comm*, int*, ...) {}
void on_session(MPI_Session*, int*, ...) {}
void handler_of_another_kind() {
  MPI_Errhandler handler;
  if (wrong)
    MPI_Comm_create_errhandler(on_comm, &handler);
  else
    MPI_Session_create_errhandler(on_session, &handler);
  MPI_Session session = begin();
  MPI_Session_set_errhandler(session, handler);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
}
void bad_thread_level() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", wrong ? "multiple" : "MPI_THREAD_MULTIPLE");
  MPI_Session session;
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  MPI_Session_finalize(&session);
}
void long_tag() {
  MPI_Session session = begin();
  MPI_Comm comm =
      comm_of(session, std::string(wrong ? MPI_MAX_STRINGTAG_LEN + 1 : MPI_MAX_STRINGTAG_LEN - 1, 't').c_str());
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void not_finalized() {
  MPI_Session session = begin();
  if (!wrong) MPI_Session_finalize(&session);
}
void ends_while_another_waits() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  int data = 1;
  if (rank == 0) MPI_Recv(&data, 1, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
  if (rank == 1 && !wrong) MPI_Send(&data, 1, MPI_INT, 0, 0, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void ends_while_another_makes() {  // a communicator that needs both
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  if (rank == 1 || !wrong) {
    MPI_Comm second = comm_of(session, "second");
    MPI_Comm_free(&second);
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void comes_late() {  // another session may come: that one waits is right until there can be none
  for (int i = 0; i < (wrong && rank == 1 ? 1 : 2); ++i) {
    MPI_Session session = begin();
    MPI_Comm comm = comm_of(session, "t");
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (rank == 1 && i == 0 && !wrong) usleep(4'000'000);
  }
}
void other_tags() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "first");
  MPI_Comm second = comm_of(session, wrong && rank == 1 ? "b" : "a");
  MPI_Barrier(second);
  MPI_Comm_free(&second);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void other_order() {  // of the same two processes, and right: the same order on both
  MPI_Session session = begin();
  MPI_Group all = everybody(session), mine;
  const int as_it_is[2] = {0, 1}, turned[2] = {1, 0};
  MPI_Group_incl(all, 2, wrong && rank == 1 ? as_it_is : turned, &mine);
  MPI_Comm comm;
  MPI_Comm_create_from_group(mine, "t", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  int here;
  MPI_Comm_rank(comm, &here);
  if (here != 1 - rank) std::exit(4);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}
void other_group() {  // of a process more
  MPI_Session session = begin();
  MPI_Group all = everybody(session), mine;
  MPI_Comm comm = comm_of(session, "first"), alone;
  MPI_Group_incl(all, 1, &rank, &mine);
  MPI_Comm_create_from_group(wrong && rank == 1 ? all : mine, "t", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &alone);
  MPI_Barrier(comm);
  MPI_Comm_free(&alone);
  MPI_Comm_free(&comm);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}
void two_sessions() {
  MPI_Session session = begin(), other = begin();
  MPI_Group all = everybody(session), self, both;
  MPI_Group_from_session_pset(wrong ? other : session, "mpi://SELF", &self);
  MPI_Group_union(all, self, &both);
  for (MPI_Group* group : {&all, &self, &both}) MPI_Group_free(group);
  MPI_Session_finalize(&other);
  MPI_Session_finalize(&session);
}
void one_does_not_come() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "first");
  if (wrong && rank == 0) MPI_Barrier(comm);
  MPI_Comm second = comm_of(session, "second");
  message(second);
  if (wrong && rank == 1) MPI_Barrier(comm);
  MPI_Comm_free(&second);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void other_collective() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  int data = 1;
  if (wrong && rank == 1)
    MPI_Bcast(&data, 1, MPI_INT, 0, comm);
  else
    MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void groups_overlap() {
  MPI_Session session = begin();
  MPI_Group all = everybody(session), mine, other;
  int me[1] = {rank}, them[1] = {1 - rank};
  MPI_Group_incl(all, 1, me, &mine);
  MPI_Group_incl(all, 1, them, &other);
  MPI_Comm comm;
  MPI_Intercomm_create_from_groups(mine, 0, wrong ? all : other, 0, "t", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&mine);
  MPI_Group_free(&other);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}
void no_buffer() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  int data = 1;
  if (!wrong) MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0);
  MPI_Bsend(&data, 1, MPI_INT, rank, 0, comm);
  MPI_Recv(&data, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void nothing_to_detach() {
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  char memory[1000];
  void* address;
  int size;
  if (!wrong) MPI_Comm_attach_buffer(comm, memory, sizeof memory);
  MPI_Comm_detach_buffer(comm, &address, &size);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}
void attached_twice() {
  MPI_Session session = begin();
  char memory[2][1000];
  MPI_Session_attach_buffer(session, memory[0], 1000);
  void* address;
  int size;
  if (!wrong) MPI_Session_detach_buffer(session, &address, &size);
  MPI_Session_attach_buffer(session, memory[1], 1000);
  MPI_Session_detach_buffer(session, &address, &size);
  MPI_Session_finalize(&session);
}
// Rank 1 does not start MPI again, or comes to it late.
void starts_again_alone() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (rank == 1 && wrong) return;
  if (rank == 1) ::sleep(1);
  MPI_Session session = begin();
  MPI_Session_finalize(&session);
}
void left_over() {  // --check=strict says so
  MPI_Session session = begin();
  MPI_Comm comm = comm_of(session, "t");
  MPI_Barrier(comm);
  if (!wrong) MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

const std::map<std::string, std::function<void()>> kCases{
    {"pending_receive", pending_receive},
    {"pending_collective", pending_collective},
    {"pending_of_two", pending_of_two},
    {"twice", twice},
    {"stale_copy", stale_copy},
    {"after_the_last", after_the_last},
    {"world_without_init", world_without_init},
    {"self_after_finalize", self_after_finalize},
    {"init_after_finalize", init_after_finalize},
    {"unknown_pset", unknown_pset},
    {"not_a_member", not_a_member},
    {"handler_of_another_kind", handler_of_another_kind},
    {"bad_thread_level", bad_thread_level},
    {"long_tag", long_tag},
    {"not_finalized", not_finalized},
    {"other_tags", other_tags},
    {"other_order", other_order},
    {"other_group", other_group},
    {"two_sessions", two_sessions},
    {"ends_while_another_waits", ends_while_another_waits},
    {"ends_while_another_makes", ends_while_another_makes},
    {"comes_late", comes_late},
    {"one_does_not_come", one_does_not_come},
    {"other_collective", other_collective},
    {"groups_overlap", groups_overlap},
    {"no_buffer", no_buffer},
    {"nothing_to_detach", nothing_to_detach},
    {"attached_twice", attached_twice},
    {"starts_again_alone", starts_again_alone},
    {"left_over", left_over},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !kCases.count(argv[1])) return 2;
  wrong = !std::strcmp(argv[2], "wrong");
  kCases.at(argv[1])();
  return 0;
}
