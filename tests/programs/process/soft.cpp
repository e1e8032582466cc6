// SPDX-License-Identifier: BSD-3-Clause
// The hints `soft` and `file` of MPI_Comm_spawn (the standard, section 11.8.4): as many processes as will do and there
// are slots for, what the error codes say of the others, and hints that stand in a file.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "check.hpp"

namespace {

std::string folder;  // of this run

std::string file_of(const std::string& name, const std::string& text) {
  const std::string path = folder + "/" + name;
  std::ofstream(path) << text;
  return path;
}

MPI_Info info_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  for (const auto& [key, value] : pairs) OK(MPI_Info_set(info, key.c_str(), value.c_str()));
  return info;
}

// How many processes come of `asked`; each of them tells where it runs.
void expect(char* program, const std::vector<std::pair<std::string, std::string>>& hints, int asked, int come,
            const std::string& where = "") {
  MPI_Info info = info_of(hints);
  MPI_Comm inter;
  std::vector<int> codes(static_cast<size_t>(asked), -1);
  OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, asked, info, 0, MPI_COMM_WORLD, &inter, codes.data()));
  int others = 0;
  OK(MPI_Comm_remote_size(inter, &others));
  CHECK_EQ(others, come);
  for (int i = 0; i < asked; ++i)
    CHECK_EQ(codes[static_cast<size_t>(i)], i < come ? int{MPI_SUCCESS} : int{MPI_ERR_SPAWN});
  char folder_there[1000] = "";
  OK(MPI_Bcast(folder_there, sizeof folder_there, MPI_CHAR, 0, inter));
  if (!where.empty()) CHECK_EQ(std::string(folder_there), where);
  OK(MPI_Comm_disconnect(&inter));
  OK(MPI_Info_free(&info));
}

void fails(char* program, const std::vector<std::pair<std::string, std::string>>& hints, int asked) {
  MPI_Info info = info_of(hints);
  MPI_Comm inter = MPI_COMM_WORLD;
  std::vector<int> codes(static_cast<size_t>(asked), -1);
  const int code = MPI_Comm_spawn(program, MPI_ARGV_NULL, asked, info, 0, MPI_COMM_WORLD, &inter, codes.data());
  CHECK_EQ(check::error_class(code), MPI_ERR_SPAWN);
  CHECK(inter == MPI_COMM_NULL);
  for (const int each : codes) CHECK_EQ(each, MPI_ERR_SPAWN);
  OK(MPI_Info_free(&info));
}

void several_commands(char* program, const std::string& two_slots) {
  char* commands[] = {program, program};
  const int asked[] = {3, 4};
  MPI_Info infos[] = {info_of({{"soft", "1:3"}, {"hostfile", two_slots}}), info_of({{"soft", "1,4"}})};
  std::vector<int> codes(7, -1);
  MPI_Comm inter;
  OK(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, asked, infos, 0, MPI_COMM_WORLD, &inter, codes.data()));
  int others = 0;
  OK(MPI_Comm_remote_size(inter, &others));
  CHECK_EQ(others, 2);
  const std::vector<int> expected{MPI_SUCCESS,   MPI_ERR_SPAWN, MPI_ERR_SPAWN, MPI_SUCCESS,
                                  MPI_ERR_SPAWN, MPI_ERR_SPAWN, MPI_ERR_SPAWN};
  for (size_t i = 0; i < codes.size(); ++i) CHECK_EQ(codes[i], expected[i]);
  char folder_there[1000];
  OK(MPI_Bcast(folder_there, sizeof folder_there, MPI_CHAR, 0, inter));
  OK(MPI_Comm_disconnect(&inter));
  for (MPI_Info& info : infos) OK(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    char here[1000] = "";
    CHECK(getcwd(here, sizeof here) != nullptr);
    OK(MPI_Bcast(here, sizeof here, MPI_CHAR, program.rank() == 0 ? MPI_ROOT : MPI_PROC_NULL, parent));
    OK(MPI_Comm_disconnect(&parent));
    return 0;
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  char itself[4096] = "";  // its children run in other folders
  CHECK(readlink("/proc/self/exe", itself, sizeof itself - 1) > 0);
  char made[] = "/tmp/tutti-soft-XXXXXX";
  if (program.rank() == 0) CHECK(mkdtemp(made) != nullptr);
  OK(MPI_Bcast(made, sizeof made, MPI_CHAR, 0, MPI_COMM_WORLD));
  folder = made;
  std::string two_slots = folder + "/two_slots", hints = folder + "/hints";
  if (program.rank() == 0) {
    file_of("two_slots", "localhost slots=2 max_slots=2\n");
    file_of("hints", "# where they run\n\n  wdir = " + folder + "\nsoft=1:2\n");
    file_of("bad", "wdir " + folder + "\n");
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  // The most that will do, of what is asked for.
  expect(itself, {{"soft", "1"}}, 3, 1);
  expect(itself, {{"soft", "2:9:2"}}, 3, 2);
  expect(itself, {{"soft", "1,3,5"}}, 4, 3);
  expect(itself, {{"soft", "9:1:-2"}}, 4, 3);
  // The most that there are slots for.
  expect(itself, {{"hostfile", two_slots}, {"soft", "1:4"}}, 4, 2);
  fails(itself, {{"hostfile", two_slots}}, 4);
  fails(itself, {{"hostfile", two_slots}, {"soft", "3,4"}}, 4);
  several_commands(itself, two_slots);
  // Hints of a file; those of the info come first.
  expect(itself, {{"file", hints}}, 3, 2, folder);
  expect(itself, {{"file", hints}, {"wdir", "/"}, {"soft", "1"}}, 3, 1, "/");
  fails(itself, {{"file", folder + "/bad"}}, 2);
  fails(itself, {{"file", folder + "/none"}}, 2);
  fails(itself, {{"soft", "some"}}, 2);
  fails(itself, {{"soft", "1:2:0"}}, 2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (program.rank() == 0)
    for (const char* name : {"two_slots", "hints", "bad", ""}) CHECK_EQ(std::remove((folder + "/" + name).c_str()), 0);
  return 0;
}
