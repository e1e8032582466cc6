// SPDX-License-Identifier: BSD-3-Clause
// Completion of requests of every kind (the standard, sections 3.7.3 to 3.7.6 and 3.8.4), and the
// start of persistent ones (3.9). Requests may be MPI_REQUEST_NULL, or inactive, but where they are
// started. An operation's own error comes back from the calls that complete it. Generalised requests
// (13.2) are the program's own operations.
#pragma once

#include "mpi/request/request.hpp"

namespace tutti::mpi {

Error start(MPI_Request* request);
Error startall(int count, MPI_Request* requests);
Error wait(MPI_Request* request, MPI_Status* status);
Error test(MPI_Request* request, int* flag, MPI_Status* status);
Error waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
Error testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
Error waitall(int count, MPI_Request* requests, MPI_Status* statuses);
Error testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
Error waitsome(int incount, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses);
Error testsome(int incount, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses);
Error request_free(MPI_Request* request);
Error request_get_status(MPI_Request request, int* flag, MPI_Status* status);
Error request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status);
Error request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
Error request_get_status_some(int incount, const MPI_Request* requests, int* outcount, int* indices,
                              MPI_Status* statuses);
Error cancel(MPI_Request* request);
Error grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                     MPI_Grequest_cancel_function* cancel, void* extra_state, MPI_Request* request);
Error grequest_complete(MPI_Request request);
Error test_cancelled(const MPI_Status* status, int* flag);
Error status_set_cancelled(MPI_Status* status, int flag);

}  // namespace tutti::mpi
