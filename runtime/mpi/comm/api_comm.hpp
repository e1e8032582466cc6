// SPDX-License-Identifier: BSD-3-Clause
// Making, describing and freeing communicators (the standard, sections 7.4 and 7.8).
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"

namespace tutti::mpi {

Error comm_size(Comm& comm, int* size);
Error comm_rank(Comm& comm, int* rank);
Error comm_compare(Comm& comm1, Comm& comm2, int* result);
Error comm_group(Comm& comm, MPI_Group* group);
Error comm_test_inter(Comm& comm, int* flag);
Error comm_remote_size(Comm& comm, int* size);
Error comm_remote_group(Comm& comm, MPI_Group* group);

Error comm_dup(Comm& comm, MPI_Comm* newcomm);
Error comm_dup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm);
Error comm_create(Comm& comm, Group& group, MPI_Comm* newcomm);
Error comm_create_group(Comm& comm, Group& group, int tag, MPI_Comm* newcomm);
Error comm_create_from_group(Group& group, const char* stringtag, Info* info, Errhandler& errhandler,
                             MPI_Comm* newcomm);
Error intercomm_create_from_groups(Group& local_group, int local_leader, const Group* remote_group, int remote_leader,
                                   const char* stringtag, Info* info, Errhandler& errhandler, MPI_Comm* newintercomm);
Error comm_split(Comm& comm, int color, int key, MPI_Comm* newcomm);
Error comm_split_type(Comm& comm, int split_type, int key, Info* info, MPI_Comm* newcomm);

// Collective over the local communicator; the leaders speak over `peer_comm`, which others need not give.
Error intercomm_create(Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag,
                       MPI_Comm* newintercomm);
Error intercomm_merge(Comm& intercomm, int high, MPI_Comm* newintracomm);

Error comm_free(MPI_Comm* comm);

// Of a communicator that is being made, or of one that is the program's, with the engine owned.
void take_hints(Comm& comm, const Info* info);
Error comm_set_info(Comm& comm, Info* info);
Error comm_get_info(Comm& comm, MPI_Info* info_used);

Error comm_set_name(Comm& comm, const char* comm_name);
Error comm_get_name(const Comm* comm, char* comm_name, int* resultlen);

}  // namespace tutti::mpi
