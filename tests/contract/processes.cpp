// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of chapter 11 of the standard, one case for each name, and its right twin: processes.py runs `NAME wrong`
// and `NAME right`. A job that is spawned runs `child NAME wrong|right`, and does what kChildren says.
#include "processes/processes.hpp"

#include <cstdio>
#include <cstring>

using namespace processes;

namespace {

const std::function<void()>* case_of(const std::string& wanted) {
  for (const Cases* cases : {&kSpawning, &kFamilies, &kPorts, &kNames})
    if (const auto found = cases->find(wanted); found != cases->end()) return &found->second;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const bool threads = argc > 1 && std::strstr(argv[argc > 2 && !std::strcmp(argv[1], "child") ? 2 : 1], "threads");
  int provided;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  program = argv[0];
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (argc == 4 && !std::strcmp(argv[1], "child")) {
    wrong = !std::strcmp(argv[3], "wrong");
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (const auto mine = kChildren.find(argv[2]); mine != kChildren.end()) mine->second(parent);
    MPI_Comm_disconnect(&parent);
  } else if (argc == 3 && case_of(argv[1])) {
    name = argv[1];
    wrong = !std::strcmp(argv[2], "wrong");
    (*case_of(name))();
  } else {
    std::fprintf(stderr, "no case '%s'\n", argc > 1 ? argv[1] : "");
    MPI_Abort(world, 2);
  }
  MPI_Finalize();
}
