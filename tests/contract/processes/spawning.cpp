// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn and MPI_Comm_spawn_multiple, and jobs where only one can be.
#include <sys/utsname.h>

#include "processes/processes.hpp"

namespace processes {
namespace {

void spawn_and_part(int root = 0, int count = 1, MPI_Info info = MPI_INFO_NULL, const std::string& command = program) {
  MPI_Comm made = spawn(root, count, info, world, command);
  if (made != MPI_COMM_NULL) MPI_Comm_disconnect(&made);
}
void spawn_with(const char* key, const std::string& bad, const std::string& good) {
  MPI_Info info = info_of({});
  if (wrong || !good.empty()) MPI_Info_set(info, key, (wrong ? bad : good).c_str());
  spawn_and_part(0, 1, info);
  MPI_Info_free(&info);
}
MPI_Comm spawn_two(int count, char** commands, const std::vector<int>& counts, int root = 0) {
  std::vector<MPI_Info> infos(8, MPI_INFO_NULL);
  std::string words[] = {"child", name, wrong ? "wrong" : "right"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char** argvs[] = {argv, argv};
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_spawn_multiple(count, commands, argvs, counts.data(), infos.data(), root, world, &made, MPI_ERRCODES_IGNORE);
  return made;
}
std::string machine() {
  utsname name{};
  uname(&name);
  return name.machine;
}

}  // namespace

const Cases kSpawning{
    {"spawn_other_root", [] { spawn_and_part(odd() ? 1 : 0); }},
    {"spawn_root_outside", [] { spawn_and_part(wrong ? size : size - 1); }},
    {"spawn_negative_root", [] { spawn_and_part(wrong ? -3 : 0); }},
    {"spawn_and_barrier",
     [] {
       if (odd())
         barrier();
       else
         spawn_and_part();
     }},
    {"spawn_and_spawn_multiple",
     [] {
       char* commands[] = {program.data(), program.data()};
       if (odd())
         spawn_two(1, commands, {1});
       else
         spawn_and_part();
     }},
    {"spawn_multiple_other_root",
     [] {
       char* commands[] = {program.data(), program.data()};
       part(spawn_two(2, commands, {1, 1}, odd() ? 1 : 0));
     }},
    {"spawn_not_by_all",
     [] {
       int data = 1;
       if (odd()) MPI_Recv(&data, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
       spawn_and_part();
       if (wrong && rank == 0) MPI_Send(&data, 1, MPI_INT, size - 1, 0, world);
     }},
    {"spawn_no_program", [] { spawn_and_part(0, 1, MPI_INFO_NULL, wrong ? "/no/such/program" : program); }},
    {"spawn_no_command", [] { spawn_and_part(0, 1, MPI_INFO_NULL, wrong ? "" : program); }},
    {"spawn_a_folder", [] { spawn_and_part(0, 1, MPI_INFO_NULL, wrong ? "/tmp" : program); }},
    {"spawn_none", [] { spawn_and_part(0, wrong ? 0 : 1); }},
    {"spawn_fewer_than_none", [] { spawn_and_part(0, wrong ? -1 : 1); }},
    {"spawn_dies", [] { spawn_and_part(0, 1, MPI_INFO_NULL, wrong ? "/bin/false" : program); }},
    {"spawn_no_mpi", [] { spawn_and_part(0, 1, MPI_INFO_NULL, wrong ? "/bin/true" : program); }},
    {"spawn_no_folder", [] { spawn_with("wdir", "/no/such/folder", "/"); }},
    {"spawn_unknown_host", [] { spawn_with("host", "no-such-node.invalid", "localhost"); }},
    {"spawn_no_hostfile", [] { spawn_with("hostfile", "/no/such/file", ""); }},
    {"spawn_bad_map_by", [] { spawn_with("map_by", "moon", "slot"); }},
    {"spawn_bad_bind_to", [] { spawn_with("bind_to", "moon", "none"); }},
    {"spawn_other_machine", [] { spawn_with("arch", "vax", machine()); }},
    {"spawn_bad_soft", [] { spawn_with("soft", "two", "1"); }},
    {"spawn_soft_without_any", [] { spawn_with("soft", "5:9", "0:1"); }},
    {"spawn_no_info_file", [] { spawn_with("file", "/no/such/file", "/dev/null"); }},
    {"spawn_bad_info_file", [] { spawn_with("file", "/proc/self/cmdline", "/dev/null"); }},
    {"spawn_bad_errhandler",
     [] { spawn_with("mpi_initial_errhandler", "mpi_errors_are_funny", "mpi_errors_are_fatal"); }},
    {"spawn_of_two_groups",
     [] {
       const std::string port = port_of_all();
       MPI_Comm two = pair(port), made = MPI_COMM_NULL;
       if (wrong) made = spawn(0, 1, MPI_INFO_NULL, two);
       part(made);
       part(two);
     }},
    {"session_with_another_job",
     [] {
       MPI_Comm child = spawn(), made = MPI_COMM_NULL;
       MPI_Group group;
       wrong ? MPI_Comm_remote_group(child, &group) : MPI_Comm_group(world, &group);
       MPI_Comm_create_from_group(group, "t", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
       MPI_Group_free(&group);
       MPI_Comm_free(&made);
       part(child);
     }},
    {"sessions_with_another_job",
     [] {
       MPI_Comm child = spawn(), made = MPI_COMM_NULL;
       MPI_Group all, mine, other;
       MPI_Comm_group(world, &all);
       const int ranks[] = {rank, 1 - rank};
       MPI_Group_incl(all, 1, &ranks[0], &mine);
       wrong ? MPI_Comm_remote_group(child, &other) : MPI_Group_incl(all, 1, &ranks[1], &other);
       MPI_Intercomm_create_from_groups(mine, 0, other, 0, "t", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
       for (MPI_Group* group : {&all, &mine, &other}) MPI_Group_free(group);
       MPI_Comm_free(&made);
       part(child);
     }},
    {"spawn_multiple_none",
     [] {
       char* commands[] = {program.data(), program.data()};
       part(spawn_two(wrong ? 0 : 1, commands, {1}));
     }},
    {"spawn_multiple_one_missing",
     [] {
       std::string second = wrong ? "/no/such/program" : program;
       char* commands[] = {program.data(), second.data()};
       part(spawn_two(2, commands, {1, 1}));
     }},
    {"spawn_multiple_null",
     [] {
       char* commands[] = {program.data()};
       part(spawn_two(1, wrong ? nullptr : commands, {1}));
     }},
    {"spawn_by_freed",
     [] {
       MPI_Comm copy, kept;
       MPI_Comm_dup(world, &copy);
       kept = copy;
       if (wrong) MPI_Comm_free(&copy);
       MPI_Comm made = spawn(0, 1, MPI_INFO_NULL, kept);
       if (copy != MPI_COMM_NULL) MPI_Comm_free(&copy);
       part(made);
     }},
};

}  // namespace processes
