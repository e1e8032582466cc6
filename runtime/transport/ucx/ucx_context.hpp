// SPDX-License-Identifier: BSD-3-Clause
// The context of UCX: what it is told of the machine, unless the user has said otherwise, and what it can do then.
#pragma once

#include <ucp/api/ucp.h>

#include "base/result.hpp"
#include "transport/ucx/ucx.hpp"

namespace tutti::transport {

struct UcxContext {
  ucp_context_h context = nullptr;  // the caller's, for ucp_cleanup()
  bool has_tags = false;            // short messages may go by them (ucx_short.hpp)
};
// An error where UCX cannot start, or refuses the setting transport.ucx_tls.
Result<UcxContext> open_context(const UcxOptions& options);

// "UCX cannot ...". Where the other end of a connection is gone it is an MPI_ERR_PROC_ABORTED.
Error ucx_failure(const char* what, ucs_status_t status);

}  // namespace tutti::transport
