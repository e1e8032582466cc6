// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tutti::launcher {

// Whether the PMIx library of this process accepts connections by way of pmix_door.cpp, where only
// the same user's and root's processes are let in. False where a library that was loaded before
// it (LD_PRELOAD) has an accept of its own.
bool pmix_door_is_guarded();

}  // namespace tutti::launcher
