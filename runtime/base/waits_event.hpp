// SPDX-License-Identifier: BSD-3-Clause
// The one word of the library to its launcher that PMIx has no call for: the number of an event.
#pragma once

namespace tutti {

// "I wait in MPI_Init for ranks that do not come." Below -3000 numbers are free (PMIX_EXTERNAL_ERR_BASE).
inline constexpr int kWaitsEvent = -3077;

}  // namespace tutti
