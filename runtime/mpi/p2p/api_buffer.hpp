// SPDX-License-Identifier: BSD-3-Clause
// The buffers of buffered sends (the standard, section 3.6): the process', those of communicators and sessions.
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/object/session.hpp"

namespace tutti::mpi {

Error buffer_attach(void* buffer, int64_t size);
Error buffer_detach(void* buffer_addr, int64_t& size);
Error buffer_flush();
Error buffer_iflush(MPI_Request* request);
Error comm_attach_buffer(Comm& comm, void* buffer, int64_t size);
Error comm_detach_buffer(Comm& comm, void* buffer_addr, int64_t& size);
Error comm_flush_buffer(Comm& comm);
Error comm_iflush_buffer(Comm& comm, MPI_Request* request);
Error session_attach_buffer(Session& session, void* buffer, int64_t size);
Error session_detach_buffer(Session& session, void* buffer_addr, int64_t& size);
Error session_flush_buffer(Session& session);
Error session_iflush_buffer(Session& session, MPI_Request* request);

}  // namespace tutti::mpi
