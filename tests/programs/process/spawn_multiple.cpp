// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn_multiple: several commands of one job, with MPI_APPNUM and arguments of their own; grandchildren;
// hints; children that are never disconnected; and what spawning says when it cannot.
#include <unistd.h>

#include "check.hpp"

namespace {

int application() {
  int* number = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag));
  CHECK(flag);
  return *number;
}

int child(int argc, char** argv, MPI_Comm parent) {
  const std::string role = argc > 1 ? argv[1] : "";
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (role == "of several") {
    CHECK_EQ(size, 3);
    CHECK_EQ(application(), rank == 0 ? 0 : 1);
    CHECK_EQ(std::string(argv[2]), std::string(rank == 0 ? "first" : "second"));
    int number = application();
    OK(MPI_Send(&number, 1, MPI_INT, 0, rank, parent));
  } else if (role == "hinted") {
    char folder[4096];
    CHECK(getcwd(folder, sizeof folder));
    CHECK_EQ(std::string(folder), std::string("/"));
    CHECK(std::getenv("TUTTI_TEST_HINT") != nullptr);
    CHECK_EQ(std::string(std::getenv("TUTTI_TEST_HINT")), std::string("a=b c"));
    int word = 1;
    OK(MPI_Send(&word, 1, MPI_INT, 0, 0, parent));
  } else if (role == "with a child") {
    MPI_Comm grand;
    char last[] = "grandchild";
    char* arguments[] = {last, nullptr};
    OK(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &grand, MPI_ERRCODES_IGNORE));
    int word = -1;
    OK(MPI_Recv(&word, 1, MPI_INT, 0, 0, grand, MPI_STATUS_IGNORE));
    OK(MPI_Send(&word, 1, MPI_INT, 0, 0, parent));
    OK(MPI_Comm_disconnect(&grand));
  } else if (role == "grandchild") {
    int word = 77;
    OK(MPI_Send(&word, 1, MPI_INT, 0, 0, parent));
    OK(MPI_Comm_disconnect(&parent));
  } else {
    check::fail(__FILE__, __LINE__, "no role: " + role);
  }
  return 0;  // without MPI_Comm_disconnect: MPI_Finalize does it
}

void several(const char* program) {
  char* commands[] = {const_cast<char*>(program), const_cast<char*>(program)};
  char role[] = "of several", first[] = "first", second[] = "second";
  char *one[] = {role, first, nullptr}, *two[] = {role, second, nullptr};
  char** arguments[] = {one, two};
  const int ranks[] = {1, 2};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm inter;
  int codes[3] = {-1, -1, -1};
  OK(MPI_Comm_spawn_multiple(2, commands, arguments, ranks, infos, 0, MPI_COMM_WORLD, &inter, codes));
  for (const int code : codes) CHECK_EQ(code, MPI_SUCCESS);
  int remote;
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(remote, 3);
  if (check::world_rank == 0)
    for (int r = 0; r < 3; ++r) {
      int number = -1;
      OK(MPI_Recv(&number, 1, MPI_INT, r, r, inter, MPI_STATUS_IGNORE));
      CHECK_EQ(number, r == 0 ? 0 : 1);
    }
  OK(MPI_Comm_free(&inter));
}

int word_of_child(const char* program, const char* role, MPI_Info info) {
  MPI_Comm inter;
  std::string text = role;
  char* arguments[] = {text.data(), nullptr};
  OK(MPI_Comm_spawn(program, arguments, 1, info, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
  int word = -1;
  OK(MPI_Recv(&word, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&inter));
  return word;  // connected until MPI_Finalize
}

void refusals(const check::Program& program) {
  MPI_Comm none = MPI_COMM_WORLD;
  int codes[2] = {-1, -1};
  CHECK_EQ(check::error_class(MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, program.size() - 1,
                                             MPI_COMM_WORLD, &none, codes)),
           MPI_ERR_SPAWN);
  CHECK(none == MPI_COMM_NULL);
  for (const int code : codes) CHECK_EQ(check::error_class(code), MPI_ERR_SPAWN);
  // One that ends well without MPI_Init, and one that fails.
  for (const char* command : {"/bin/true", "/bin/false"})
    CHECK_EQ(check::error_class(MPI_Comm_spawn(command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none,
                                               MPI_ERRCODES_IGNORE)),
             MPI_ERR_SPAWN);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "arch", "pdp11"));
  CHECK_EQ(check::error_class(
               MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &none, MPI_ERRCODES_IGNORE)),
           MPI_ERR_SPAWN);
  OK(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) return child(argc, argv, parent);
  several(argv[0]);
  if (program.rank() == 0) {
    CHECK_EQ(word_of_child(argv[0], "with a child", MPI_INFO_NULL), 77);
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "wdir", "/"));
    OK(MPI_Info_set(info, "env", "TUTTI_TEST_HINT=a=b c"));
    OK(MPI_Info_set(info, "unknown", "ignored"));
    CHECK_EQ(word_of_child(argv[0], "hinted", info), 1);
    OK(MPI_Info_free(&info));
  }
  refusals(program);
  return 0;
}
