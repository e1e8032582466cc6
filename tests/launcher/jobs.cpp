// SPDX-License-Identifier: BSD-3-Clause
// Jobs that are connected, for tests of what happens when one of them ends. The first argument says the part:
//   parent WHAT     spawns two children and tells them WHAT; exits with 0 if it hears what it should
//   child           does what the parent says
//   server NAME     accepts under a published name, round after round, until a client says that it is the last
//   client NAME N   connects N times;  "client NAME dies" is killed while it is connected,
//                   "aborts" calls MPI_Abort on the connection, "errs" makes a fatal error
//   waits           accepts, for ever
//   hints           opens files with hints that mean nothing, together and alone
#include <mpi.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int rank = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d: not true: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int class_of(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

void say_ready(const char* word) {
  std::printf("%s\n", word);
  std::fflush(stdout);
}

void say_universe(const char* who) {
  int *slots = nullptr, given = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &slots, &given);
  std::printf("%s: universe of %d\n", who, given ? *slots : -1);
  std::fflush(stdout);
}

void child(MPI_Comm parent) {
  char what[32] = "";
  if (rank == 0) MPI_Recv(what, sizeof what, MPI_CHAR, 0, 0, parent, MPI_STATUS_IGNORE);
  MPI_Bcast(what, sizeof what, MPI_CHAR, 0, MPI_COMM_WORLD);
  const std::string word = what;
  if ((word == "abort" || word == "unheard") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
  if (word == "die" && rank == 1) raise(SIGKILL);
  if (word == "part") {
    MPI_Comm_disconnect(&parent);
    if (rank == 1) raise(SIGKILL);
  }
  if (word == "stay") say_ready("child ready");
  if (word == "wait") MPI_Barrier(parent);
  if (word == "universe") {
    say_universe("child");
    MPI_Comm_disconnect(&parent);
    return;
  }
  for (;;) pause();
}

// Every way to wait for somebody who has gone, and to send to him.
void hear_of_the_end(MPI_Comm inter) {
  int word = 0, remote = 0;
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Request request, long_one;
  const std::string megabytes(4'000'000, 'x');
  MPI_Isend(megabytes.data(), static_cast<int>(megabytes.size()), MPI_CHAR, 1, 6, inter, &long_one);
  MPI_Irecv(&word, 1, MPI_INT, 1, 5, inter, &request);
  expect(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED, "a receive that was posted ends");
  expect(class_of(MPI_Wait(&long_one, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED, "a long message ends");
  expect(class_of(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, inter, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED,
         "a receive behind the end ends");
  expect(class_of(MPI_Ssend(&word, 1, MPI_INT, 0, 5, inter)) == MPI_ERR_PROC_ABORTED, "a send ends");
  // It ends; a rank that waits for others of its own side alone need not notice.
  const int barrier = class_of(MPI_Barrier(inter));
  expect(barrier == MPI_ERR_PROC_ABORTED || barrier == MPI_SUCCESS, "a collective ends");
  expect(MPI_Comm_remote_size(inter, &remote) == MPI_SUCCESS && remote == 2, "the group stays");
  expect(MPI_Comm_disconnect(&inter) == MPI_SUCCESS, "there is nobody to wait for");
}

void parent(char** argv) {
  char role[] = "child", what[32] = "";
  std::strncpy(what, argv[2], sizeof what - 1);
  char* arguments[] = {role, nullptr};
  MPI_Comm inter;
  MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  if (rank == 0) MPI_Send(what, sizeof what, MPI_CHAR, 0, 0, inter);
  const std::string word = what;
  if (word == "abort" || word == "die") {
    hear_of_the_end(inter);
  } else if (word == "unheard") {
    // Nothing more is called that the children would be needed for.
  } else if (word == "wait") {
    if (rank == 0) MPI_Recv(what, sizeof what, MPI_CHAR, 1, 0, inter, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (word == "universe") {
    say_universe("parent");
    MPI_Comm_disconnect(&inter);
  } else if (word == "part") {
    MPI_Comm_disconnect(&inter);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    say_ready("parent ready");
    for (;;) pause();
  }
  if (rank == 0) say_ready("parent fine");
}

void server(const char* name) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(name, MPI_INFO_NULL, port);
    say_ready("server ready");
  }
  for (int left = 1; left > 0;) {
    MPI_Comm client;
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &client);
    MPI_Comm_set_errhandler(client, MPI_ERRORS_RETURN);
    int sum = 0, servers = 0;
    MPI_Barrier(client);
    MPI_Comm_size(MPI_COMM_WORLD, &servers);
    MPI_Comm all = MPI_COMM_NULL;
    int code = MPI_Intercomm_merge(client, 1, &all);
    if (code == MPI_SUCCESS) {
      MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
      code = MPI_Bcast(&left, 1, MPI_INT, 0, all);
    }
    if (code != MPI_SUCCESS) {
      if (class_of(code) != MPI_ERR_PROC_ABORTED) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        std::fprintf(stderr, "%s\n", text);
      }
      expect(class_of(code) == MPI_ERR_PROC_ABORTED, "the class of a client that is gone");
      left = 1;
    } else {
      expect(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all) == MPI_SUCCESS, "a sum over both");
      expect(sum == 1 + servers * (servers - 1) / 2, "the sum of all ranks");
    }
    if (all != MPI_COMM_NULL) MPI_Comm_free(&all);
    MPI_Comm_disconnect(&client);
  }
  if (rank == 0) say_ready("server fine");
}

void client(const char* name, const std::string& times) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Lookup_name(name, MPI_INFO_NULL, port);
  for (int left = std::isalpha(times[0]) ? 1 : std::atoi(times.c_str()) - 1; left >= 0; --left) {
    MPI_Comm inter;
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    if (times == "aborts" && rank == 1) MPI_Abort(inter, 5);
    if (times == "errs" && rank == 1) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Send(&rank, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    }
    if (times == "dies") {
      MPI_Barrier(inter);
      if (rank == 1) raise(SIGKILL);
      pause();
    }
    int sum = 0, size = 0;
    MPI_Comm_remote_size(inter, &size);
    MPI_Comm all;
    MPI_Barrier(inter);
    MPI_Intercomm_merge(inter, 0, &all);
    MPI_Bcast(&left, 1, MPI_INT, 0, all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    expect(sum == 1 + size * (size - 1) / 2, "the sum of all ranks");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
  }
  if (rank == 0) say_ready("client fine");
}

void wait_for_ever() {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm none;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  say_ready("ready");
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none);
}

void give_senseless_hints() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "striping_unit", "many");
  MPI_Info_set(info, "striping_factor", "0");
  MPI_Info_set(info, "cb_nodes", "0");
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_COMM_SELF}) {
    const std::string name = comm == MPI_COMM_SELF ? "hints." + std::to_string(rank) : "hints";
    MPI_File file;
    MPI_File_open(comm, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file);
    MPI_File_set_info(file, info);
    MPI_File_close(&file);
  }
  MPI_Info_free(&info);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string part = argc > 1 ? argv[1] : "";
  MPI_Comm of_parents;
  MPI_Comm_get_parent(&of_parents);
  if (part == "child") child(of_parents);
  if (part == "parent") parent(argv);
  if (part == "server") server(argv[2]);
  if (part == "client") client(argv[2], argv[3]);
  if (part == "waits") wait_for_ever();
  if (part == "hints") give_senseless_hints();
  MPI_Finalize();
}
