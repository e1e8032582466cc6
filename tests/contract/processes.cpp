// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of chapter 11 of the standard, one case for each name, and its right twin: processes.py runs `NAME wrong`
// and `NAME right`. A job that is spawned runs `child NAME wrong|right`, and does what kChildren says.
#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

bool wrong = false;
int rank = -1, size = 0;
std::string program, name;
const MPI_Comm world = MPI_COMM_WORLD;

bool odd() { return wrong && rank == size - 1; }  // the rank that goes wrong

MPI_Info info_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (const auto& [key, value] : pairs) MPI_Info_set(info, key.c_str(), value.c_str());
  return info;
}

MPI_Comm spawn(int root = 0, int count = 1, MPI_Info info = MPI_INFO_NULL, MPI_Comm comm = world,
               const std::string& command = program) {
  std::string words[] = {"child", name, wrong ? "wrong" : "right"}, what = command;
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_spawn(what.data(), argv, count, info, root, comm, &made, MPI_ERRCODES_IGNORE);
  return made;
}
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
  MPI_Comm_spawn_multiple(count, commands, argvs, counts.data(), infos.data(), root, world, &made,
                          MPI_ERRCODES_IGNORE);
  return made;
}

// The port of rank 0, as all know it.
std::string port_of_all() {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, world);
  return port;
}
std::string own_port() {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Open_port(MPI_INFO_NULL, port);
  return port;
}
MPI_Comm accept(const std::string& port, MPI_Comm comm = MPI_COMM_SELF, int root = 0, MPI_Info info = MPI_INFO_NULL) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_accept(port.c_str(), info, root, comm, &made);
  return made;
}
MPI_Comm connect(const std::string& port, MPI_Comm comm = MPI_COMM_SELF, int root = 0, MPI_Info info = MPI_INFO_NULL) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_connect(port.c_str(), info, root, comm, &made);
  return made;
}
// Rank 0 with rank 1, over a port of rank 0's.
MPI_Comm pair(const std::string& port) {
  return rank == 0 ? accept(port) : rank == 1 ? connect(port) : MPI_COMM_NULL;
}
void part(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_disconnect(&comm);
}
MPI_Comm halves() {
  MPI_Comm half;
  MPI_Comm_split(world, rank % 2, rank, &half);
  return half;
}
std::string machine() {
  utsname name{};
  uname(&name);
  return name.machine;
}
std::string service() { return name + std::to_string(getpid()); }
std::string shared_service() {  // rank 0's
  int pid = static_cast<int>(getpid());
  MPI_Bcast(&pid, 1, MPI_INT, 0, world);
  return name + std::to_string(pid);
}
void publish(const std::string& what, const std::string& port) {
  MPI_Publish_name(what.c_str(), MPI_INFO_NULL, port.c_str());
}
void unpublish(const std::string& what, const std::string& port) {
  MPI_Unpublish_name(what.c_str(), MPI_INFO_NULL, port.c_str());
}
std::string look_up(const std::string& what) {
  char found[MPI_MAX_PORT_NAME] = "";
  MPI_Lookup_name(what.c_str(), MPI_INFO_NULL, found);
  return found;
}
void close(const std::string& port) { MPI_Close_port(port.c_str()); }
void barrier() { MPI_Barrier(world); }

// A collective between the parents, of whom rank 0 is the root, and their child.
int root_here() { return rank == 0 ? MPI_ROOT : MPI_PROC_NULL; }

const std::map<std::string, std::function<void(MPI_Comm)>> kChildren{
    {"parents_bcast_child_barrier",
     [](MPI_Comm parent) {
       int data = 0;
       wrong ? MPI_Barrier(parent) : MPI_Bcast(&data, 1, MPI_INT, 0, parent);
     }},
    {"child_other_count",
     [](MPI_Comm parent) {
       int data[8];
       MPI_Bcast(data, wrong ? 2 : 4, MPI_INT, 0, parent);
     }},
    {"child_other_type",
     [](MPI_Comm parent) {
       float data[8];
       MPI_Bcast(data, 4, wrong ? MPI_FLOAT : MPI_INT, 0, parent);
     }},
    {"child_other_operation",
     [](MPI_Comm parent) {
       int in = 1, out = 0;
       MPI_Allreduce(&in, &out, 1, MPI_INT, wrong ? MPI_MAX : MPI_SUM, parent);
     }},
    {"child_other_root",
     [](MPI_Comm parent) {
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, wrong ? 1 : 0, parent);
     }},
    {"child_is_root_too",
     [](MPI_Comm parent) {
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, wrong ? MPI_ROOT : 0, parent);
     }},
    {"child_other_form",
     [](MPI_Comm parent) {
       MPI_Request request = MPI_REQUEST_NULL;
       wrong ? MPI_Ibarrier(parent, &request) : MPI_Barrier(parent);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"child_truncates",
     [](MPI_Comm parent) {
       int data[4];
       MPI_Recv(data, wrong ? 1 : 4, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
     }},
    {"child_rank_outside",
     [](MPI_Comm parent) {
       int data = 1;
       if (wrong) MPI_Send(&data, 1, MPI_INT, 7, 0, parent);
     }},
    {"both_receive",
     [](MPI_Comm parent) {
       int data = 1;
       if (!wrong) MPI_Send(&data, 1, MPI_INT, 0, 0, parent);
       MPI_Recv(&data, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
     }},
    {"child_in_barrier_of_its_own",
     [](MPI_Comm parent) {
       int data = 1;
       if (rank == 0 || !wrong) MPI_Barrier(world);
       if (rank == 1 && wrong) MPI_Recv(&data, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
     }},
    {"child_does_not_part",
     [](MPI_Comm parent) {
       if (wrong) MPI_Barrier(parent);
     }},
    {"child_aborts", [](MPI_Comm parent) {
       if (wrong) MPI_Abort(parent, 9);
     }},
};

const std::map<std::string, std::function<void()>> kCases{
    // ---- MPI_Comm_spawn
    {"spawn_other_root", [] { spawn_and_part(odd() ? 1 : 0); }},
    {"spawn_root_outside", [] { spawn_and_part(wrong ? size : size - 1); }},
    {"spawn_negative_root", [] { spawn_and_part(wrong ? -3 : 0); }},
    {"spawn_and_barrier",
     [] {
       if (odd()) barrier();
       else spawn_and_part();
     }},
    {"spawn_and_spawn_multiple",
     [] {
       char* commands[] = {program.data(), program.data()};
       if (odd()) spawn_two(1, commands, {1});
       else spawn_and_part();
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
    {"spawn_bad_errhandler", [] { spawn_with("mpi_initial_errhandler", "mpi_errors_are_funny", "mpi_errors_are_fatal"); }},
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
    // ---- between parents and children
    {"no_parent",
     [] {
       MPI_Comm parent;
       MPI_Comm_get_parent(&parent);
       if (wrong) MPI_Barrier(parent);
     }},
    {"parents_bcast_child_barrier",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_count",
     [] {
       MPI_Comm child = spawn();
       int data[8] = {};
       MPI_Bcast(data, 4, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_type",
     [] {
       MPI_Comm child = spawn();
       int data[8] = {};
       MPI_Bcast(data, 4, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_operation",
     [] {
       MPI_Comm child = spawn();
       int in = 1, out = 0;
       MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, child);
       part(child);
     }},
    {"child_other_root",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_is_root_too",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_form",
     [] {
       MPI_Comm child = spawn();
       MPI_Barrier(child);
       part(child);
     }},
    {"child_truncates",
     [] {
       MPI_Comm child = spawn();
       int data[4] = {};
       if (rank == 0) MPI_Send(data, 4, MPI_INT, 0, 0, child);
       part(child);
     }},
    {"child_rank_outside", [] { part(spawn()); }},
    {"both_receive",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       if (rank == 0) {
         MPI_Recv(&data, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
         MPI_Send(&data, 1, MPI_INT, 0, 0, child);
       }
       part(child);
     }},
    {"child_in_barrier_of_its_own",
     [] {
       MPI_Comm child = spawn(0, 2);
       int data = 1;
       if (wrong && rank == 0) MPI_Recv(&data, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
       part(child);
     }},
    {"child_does_not_part", [] { part(spawn()); }},
    {"child_aborts",
     [] {
       MPI_Comm child = spawn();
       int data = 0;
       if (wrong && rank == 0) MPI_Recv(&data, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
       part(child);
     }},
    {"parted_by_some",
     [] {
       MPI_Comm child = spawn();
       if (odd()) MPI_Barrier(child);
       part(child);
     }},
    {"used_after_parting",
     [] {
       MPI_Comm child = spawn(), kept = child;
       part(child);
       if (wrong) MPI_Barrier(kept);
     }},
    {"parted_twice",
     [] {
       MPI_Comm child = spawn(), kept = child;
       part(child);
       if (wrong) part(kept);
     }},
    {"parts_with_the_world",
     [] {
       MPI_Comm copy;
       MPI_Comm_dup(world, &copy);
       MPI_Comm which = wrong ? world : copy;
       MPI_Comm_disconnect(&which);
     }},
    {"parts_with_a_receive_open",
     [] {
       const std::string port = port_of_all();
       MPI_Comm two = pair(port);
       int data = 0, one = 1;
       MPI_Request request;
       MPI_Irecv(&data, 1, MPI_INT, 0, 0, two, &request);
       if (!wrong || rank == 1) MPI_Send(&one, 1, MPI_INT, 0, 0, two);
       part(two);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    // ---- ports
    {"accept_at_no_port", [] {
       const std::string port = port_of_all();
       part(pair(wrong ? "nonsense" : port));
     }},
    {"accept_at_closed_port", [] {
       const std::string port = own_port();
       if (wrong) close(port);
       if (wrong) part(accept(port));
     }},
    {"accept_at_anothers_port",
     [] {
       const std::string port = port_of_all();
       if (wrong && rank == 1) part(accept(port));
       barrier();
     }},
    {"accept_other_root",
     [] {
       const std::string port = port_of_all();
       MPI_Comm half = halves();
       part(rank % 2 ? connect(port, half) : accept(port, half, wrong && rank == 2 ? 1 : 0));
       MPI_Comm_free(&half);
     }},
    {"connect_other_root",
     [] {
       const std::string port = port_of_all();
       MPI_Comm half = halves();
       part(rank % 2 ? connect(port, half, wrong && rank == 3 ? 1 : 0) : accept(port, half));
       MPI_Comm_free(&half);
     }},
    {"accept_root_outside",
     [] {
       const std::string port = port_of_all();
       if (rank == 0) part(accept(port, MPI_COMM_SELF, wrong ? 1 : 0));
       else part(connect(port));
     }},
    {"accept_and_connect",
     [] {
       const std::string port = port_of_all();
       MPI_Comm half = halves();
       part(rank % 2 || (wrong && rank == 2) ? connect(port, half) : accept(port, half));
       MPI_Comm_free(&half);
     }},
    {"accept_and_barrier",
     [] {
       const std::string port = port_of_all();
       MPI_Comm half = halves();
       if (wrong && rank == 2) MPI_Barrier(half);
       else part(rank % 2 ? connect(port, half) : accept(port, half));
       MPI_Comm_free(&half);
     }},
    {"accept_of_two_groups",
     [] {
       const std::string port = port_of_all();
       MPI_Comm two = pair(port);
       if (wrong) part(accept(port, two));
       part(two);
     }},
    {"connect_to_nonsense", [] {
       const std::string port = port_of_all();
       if (rank == 0 && !wrong) part(accept(port));
       if (rank == 1) part(connect(wrong ? "tutti://a/b" : port));
     }},
    {"connect_to_closed_port",
     [] {
       const std::string port = port_of_all();
       if (rank == 0 && wrong) close(port);
       barrier();
       part(rank == 0 && wrong ? MPI_COMM_NULL : pair(port));
     }},
    {"connect_to_one_that_waits",  // for this one: no accept will ever come
     [] {
       const std::string port = port_of_all();
       MPI_Info info = info_of({{"timeout", "1"}});
       int data = 1;
       if (wrong && rank == 0) MPI_Recv(&data, 1, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
       MPI_Comm two = rank == 0 ? accept(port, MPI_COMM_SELF, 0, info) : connect(port, MPI_COMM_SELF, 0, info);
       if (rank == 1 && wrong) MPI_Send(&data, 1, MPI_INT, 0, 0, world);
       MPI_Info_free(&info);
       part(two);
     }},
    {"accept_nobody",
     [] {
       const std::string port = port_of_all();
       MPI_Info info = info_of({{"timeout", "1"}});
       if (rank == 0) part(accept(port, MPI_COMM_SELF, 0, info));
       else if (!wrong) part(connect(port));
       MPI_Info_free(&info);
     }},
    {"bad_timeout",
     [] {
       const std::string port = port_of_all();
       MPI_Info info = info_of({{"timeout", wrong ? "soon" : "20"}});
       part(rank == 0 ? accept(port, MPI_COMM_SELF, 0, info) : connect(port, MPI_COMM_SELF, 0, info));
       MPI_Info_free(&info);
     }},
    {"port_closed_twice",
     [] {
       const std::string port = own_port();
       close(port);
       if (wrong) close(port);
     }},
    {"port_of_another_closed",
     [] {
       const std::string port = port_of_all();
       if (rank == (wrong ? 1 : 0)) close(port);
       barrier();
     }},
    {"port_closes_while_one_waits",
     [] {
       const std::string port = port_of_all();
       if (rank == 0 && wrong) {
         usleep(300'000);
         close(port);
       }
       part(rank == 0 && wrong ? MPI_COMM_NULL : pair(port));
     }},
    {"no_socket_to_join",
     [] {
       MPI_Comm made = MPI_COMM_NULL;
       if (wrong) MPI_Comm_join(987, &made);
     }},
    // ---- names
    {"published_twice",
     [] {
       const std::string port = own_port(), mine = service();
       publish(mine, port);
       if (!wrong) unpublish(mine, port);
       publish(mine, port);
       unpublish(mine, port);
     }},
    {"published_by_two",
     [] {
       const std::string port = own_port(), what = shared_service();
       if (rank == 0) publish(what, port);
       barrier();
       if (rank == 1) publish(wrong ? what : what + "b", port);
       barrier();
     }},
    {"unpublished_twice",
     [] {
       const std::string port = own_port(), mine = service();
       publish(mine, port);
       unpublish(mine, port);
       if (wrong) unpublish(mine, port);
     }},
    {"unpublished_by_another",
     [] {
       const std::string port = own_port(), what = shared_service();
       if (rank == 0) publish(what, port);
       barrier();
       if (rank == (wrong ? 1 : 0)) unpublish(what, port);
       barrier();
     }},
    {"unpublished_with_another_port",
     [] {
       const std::string port = own_port(), other = own_port(), mine = service();
       publish(mine, port);
       unpublish(mine, wrong ? other : port);
     }},
    {"never_published",
     [] {
       const std::string port = own_port(), mine = service();
       if (!wrong) publish(mine, port);
       look_up(mine);
     }},
    {"published_no_more",
     [] {
       const std::string port = own_port(), mine = service();
       publish(mine, port);
       if (wrong) unpublish(mine, port);
       look_up(mine);
     }},
    {"published_without_a_name", [] { publish(wrong ? "" : service(), own_port()); }},
    {"published_with_a_long_name", [] { publish(wrong ? std::string(300, 'x') : service(), own_port()); }},
    {"published_without_a_port", [] { publish(service(), wrong ? "" : own_port()); }},
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  program = argv[0];
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (argc == 4 && !std::strcmp(argv[1], "child")) {
    wrong = !std::strcmp(argv[3], "wrong");
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (const auto mine = kChildren.find(argv[2]); mine != kChildren.end()) mine->second(parent);
    MPI_Comm_disconnect(&parent);
  } else if (argc == 3 && kCases.contains(argv[1])) {
    name = argv[1];
    wrong = !std::strcmp(argv[2], "wrong");
    kCases.at(name)();
  } else {
    std::fprintf(stderr, "no case '%s'\n", argc > 1 ? argv[1] : "");
    MPI_Abort(world, 2);
  }
  MPI_Finalize();
}
