// SPDX-License-Identifier: BSD-3-Clause
// What the UCX library itself prints while messages travel. When a peer has ended it writes several lines of its
// own on standard error, beside the sentence about that end.
#pragma once

namespace tutti::transport {

// From here on an error line of UCX's, and a fatal one, behind which it ends the process, is kept back for two seconds, and left out when the job ends meanwhile
// (base/os/late_word.hpp). Where the user has set UCX_LOG_LEVEL it is printed as it comes. Any number of times.
void keep_back_ucx_errors();

}  // namespace tutti::transport
