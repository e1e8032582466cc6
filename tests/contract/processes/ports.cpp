// SPDX-License-Identifier: BSD-3-Clause
// Ports, and the jobs that meet there; names under which ports are published.
#include <unistd.h>

#include "processes/processes.hpp"

namespace processes {
namespace {

std::string own_port() {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Open_port(MPI_INFO_NULL, port);
  return port;
}
MPI_Comm halves() {
  MPI_Comm half;
  MPI_Comm_split(world, rank % 2, rank, &half);
  return half;
}
std::string service() {
  return name + std::to_string(getpid());
}
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
void close(const std::string& port) {
  MPI_Close_port(port.c_str());
}

}  // namespace

const Cases kPorts{
    {"accept_at_no_port",
     [] {
       const std::string port = port_of_all();
       part(pair(wrong ? "nonsense" : port));
     }},
    {"accept_at_closed_port",
     [] {
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
       if (rank == 0)
         part(accept(port, MPI_COMM_SELF, wrong ? 1 : 0));
       else
         part(connect(port));
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
       if (wrong && rank == 2)
         MPI_Barrier(half);
       else
         part(rank % 2 ? connect(port, half) : accept(port, half));
       MPI_Comm_free(&half);
     }},
    {"accept_of_two_groups",
     [] {
       const std::string port = port_of_all();
       MPI_Comm two = pair(port);
       if (wrong) part(accept(port, two));
       part(two);
     }},
    {"connect_to_nonsense",
     [] {
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
    {"connect_to_nobody",  // without a limit: the port's owner waits for this one in another call
     [] {
       const std::string port = port_of_all();
       if (wrong && rank == 0) barrier();
       MPI_Comm two = pair(port);
       if (!wrong || rank != 0) barrier();
       part(two);
     }},
    {"accept_nobody",
     [] {
       const std::string port = port_of_all();
       MPI_Info info = info_of({{"timeout", "1"}});
       if (rank == 0)
         part(accept(port, MPI_COMM_SELF, 0, info));
       else if (!wrong)
         part(connect(port));
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
};

const Cases kNames{
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

}  // namespace processes
