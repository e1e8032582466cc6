// SPDX-License-Identifier: BSD-3-Clause
// How long a rank waits for the answer of its launcher's PMIx server when it joins, where the user says nothing else. A
// rank that is stopped meanwhile waits anew.
#pragma once

namespace tutti {

inline constexpr int kHandshakeSeconds = 60;
inline constexpr const char* kHandshakeVariable = "PMIX_MCA_ptl_base_handshake_wait_time";

}  // namespace tutti
