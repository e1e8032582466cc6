// SPDX-License-Identifier: BSD-3-Clause
// Processes beyond MPI_COMM_WORLD (the standard, chapter 11): ports, names, connections, spawning.
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"

namespace tutti::mpi::processes {

Error open_port(Info* info, char* port_name);
Error close_port(const char* port_name);
Error comm_accept(const char* port_name, Info* info, int root, Comm& comm, MPI_Comm* newcomm);
Error comm_connect(const char* port_name, Info* info, int root, Comm& comm, MPI_Comm* newcomm);
Error comm_join(int fd, MPI_Comm* intercomm);
Error comm_disconnect(MPI_Comm* comm);

Error publish_name(const char* service_name, Info* info, const char* port_name);
Error unpublish_name(const char* service_name, Info* info, const char* port_name);
Error lookup_name(const char* service_name, Info* info, char* port_name);

Error comm_get_parent(MPI_Comm* parent);
Error comm_spawn(const char* command, char* argv[], int maxprocs, Info* info, int root, Comm& comm, MPI_Comm* intercomm,
                 int array_of_errcodes[]);
Error comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
                          const MPI_Info array_of_info[], int root, Comm& comm, MPI_Comm* intercomm,
                          int array_of_errcodes[]);

}  // namespace tutti::mpi::processes
