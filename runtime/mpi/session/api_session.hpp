// SPDX-License-Identifier: BSD-3-Clause
// Sessions and their process sets (the standard, sections 11.3 and 9.3.4).
#pragma once

#include "mpi/comm/group.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/session.hpp"

namespace tutti::mpi::session {

Error session_init(Info* info, Errhandler& errhandler, MPI_Session* session);
Error session_finalize(MPI_Session* session);
Error session_get_info(Session& session, MPI_Info* info_used);

Error session_get_num_psets(Session& session, Info* info, int* npset_names);
Error session_get_nth_pset(Session& session, Info* info, int n, int* pset_len, char* pset_name);
Error session_get_pset_info(Session& session, const char* pset_name, MPI_Info* info);
Error group_from_session_pset(Session& session, const char* pset_name, MPI_Group* newgroup);

}  // namespace tutti::mpi::session
