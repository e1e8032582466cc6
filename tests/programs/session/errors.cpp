// SPDX-License-Identifier: BSD-3-Clause
// Whose error handler hears of an error: the session's for its own calls and for those on its groups, the one
// that was given for a communicator that is not made, the initial one where there is nothing else.
#include "session.hpp"

namespace {

int session_calls = 0, session_code = 0, comm_calls = 0, comm_code = 0;
MPI_Session heard = MPI_SESSION_NULL;
MPI_Comm heard_comm = MPI_COMM_WORLD;

void on_session(MPI_Session* session, int* code, ...) {
  ++session_calls;
  session_code = check::error_class(*code);
  heard = *session;
}
void on_comm(MPI_Comm* comm, int* code, ...) {
  ++comm_calls;
  comm_code = check::error_class(*code);
  heard_comm = *comm;
}

void forgive(MPI_Session*, int* code, ...) {
  *code = MPI_SUCCESS;
}

// Of what is not made: called once, whatever argument is wrong.
void expect_new_comm(int code, int error_class) {
  CHECK_EQ(check::error_class(code), error_class);
  CHECK_EQ(comm_calls, 1);
  CHECK_EQ(comm_code, error_class);
  CHECK(heard_comm == MPI_COMM_NULL);
  CHECK_EQ(session_calls, 0);
  comm_calls = 0;
}

void expect_session(MPI_Session session, int code, int error_class) {
  CHECK_EQ(check::error_class(code), error_class);
  CHECK_EQ(session_calls, 1);
  CHECK_EQ(session_code, error_class);
  CHECK(heard == session);
  session_calls = 0;
}

}  // namespace

int main() {
  MPI_Errhandler of_session = MPI_ERRHANDLER_NULL, of_comm = MPI_ERRHANDLER_NULL, got = MPI_ERRHANDLER_NULL;
  // Both are made before MPI is there (the standard, section 11.4).
  OK(MPI_Session_create_errhandler(on_session, &of_session));
  OK(MPI_Comm_create_errhandler(on_comm, &of_comm));

  MPI_Session mine = MPI_SESSION_NULL;
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "as many as there are"));
  CHECK_EQ(check::error_class(MPI_Session_init(info, of_session, &mine)), MPI_ERR_INFO_VALUE);
  CHECK_EQ(session_calls, 1);
  session_calls = 0;
  OK(MPI_Info_free(&info));

  CHECK_EQ(check::error_class(MPI_Session_init(MPI_INFO_NULL, of_session, nullptr)), MPI_ERR_ARG);
  CHECK_EQ(session_calls, 1);
  CHECK(heard == MPI_SESSION_NULL);
  session_calls = 0;
  OK(MPI_Session_create_errhandler(forgive, &got));
  OK(MPI_Session_init(MPI_INFO_NULL, got, nullptr));  // what the handler leaves
  OK(MPI_Errhandler_free(&got));

  OK(MPI_Session_init(MPI_INFO_NULL, of_session, &mine));
  MPI_Group group = MPI_GROUP_NULL;
  expect_session(mine, MPI_Group_from_session_pset(mine, "mpi://NOBODY", &group), MPI_ERR_ARG);
  OK(MPI_Session_get_errhandler(mine, &got));
  CHECK(got == of_session);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Session_call_errhandler(mine, MPI_ERR_OTHER));
  expect_session(mine, MPI_ERR_OTHER, MPI_ERR_OTHER);
  expect_session(mine, MPI_Session_set_errhandler(mine, of_comm), MPI_ERR_ERRHANDLER);

  group = session::group(mine);
  int rank = -1, me = 0;
  OK(MPI_Group_rank(group, &me));
  check::world_rank = me;
  MPI_Group some = MPI_GROUP_NULL;
  int nobody[1] = {1 << 20};
  expect_session(mine, MPI_Group_incl(group, 1, nobody, &some), MPI_ERR_RANK);
  int range[1][3] = {{me, me, 1}};
  OK(MPI_Group_range_incl(group, 1, range, &some));
  expect_session(mine, MPI_Group_incl(some, 1, nobody, &group), MPI_ERR_RANK);

  // What is not made: the handler that it would have.
  MPI_Comm comm = MPI_COMM_WORLD;
  const std::string too_long(MPI_MAX_STRINGTAG_LEN + 10, 't');
  expect_new_comm(MPI_Comm_create_from_group(some, too_long.c_str(), MPI_INFO_NULL, of_comm, &comm), MPI_ERR_ARG);
  expect_new_comm(MPI_Comm_create_from_group(some, nullptr, MPI_INFO_NULL, of_comm, &comm), MPI_ERR_ARG);
  expect_new_comm(MPI_Comm_create_from_group(some, "t", MPI_INFO_NULL, of_comm, nullptr), MPI_ERR_ARG);
  expect_new_comm(MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, of_comm, &comm), MPI_ERR_GROUP);
  const auto between = [&](MPI_Group local, const char* tag, MPI_Comm* made) {
    return MPI_Intercomm_create_from_groups(local, 0, some, 0, tag, MPI_INFO_NULL, of_comm, made);
  };
  expect_new_comm(between(MPI_GROUP_NULL, "t", &comm), MPI_ERR_GROUP);
  expect_new_comm(between(some, nullptr, &comm), MPI_ERR_ARG);
  expect_new_comm(between(some, "t", nullptr), MPI_ERR_ARG);
  expect_new_comm(between(some, too_long.c_str(), &comm), MPI_ERR_ARG);
  expect_session(mine, MPI_Comm_create_from_group(some, "tag", MPI_INFO_NULL, of_session, &comm), MPI_ERR_ERRHANDLER);

  // And what is made has it.
  OK(MPI_Comm_create_from_group(some, "tag", MPI_INFO_NULL, of_comm, &comm));
  OK(MPI_Comm_rank(comm, &rank));
  CHECK_EQ(rank, 0);
  int data = 0;
  CHECK_EQ(check::error_class(MPI_Send(&data, 1, MPI_INT, 7, 0, comm)), MPI_ERR_RANK);
  CHECK_EQ(comm_calls, 1);
  CHECK(heard_comm == comm);
  comm_calls = 0;

  // An operation that is not complete keeps the session.
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Irecv(&data, 1, MPI_INT, 0, 1, comm, &request));
  const MPI_Session before = mine;
  expect_session(mine, MPI_Session_finalize(&mine), MPI_ERR_PENDING);
  CHECK(mine == before);
  int given = 42;
  OK(MPI_Send(&given, 1, MPI_INT, 0, 1, comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(data, 42);

  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&mine));
  OK(MPI_Errhandler_free(&of_session));
  OK(MPI_Errhandler_free(&of_comm));
  if (me == 0) std::puts("ok");
  return 0;
}
