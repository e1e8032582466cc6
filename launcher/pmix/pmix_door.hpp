// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tutti::launcher {

// Whether the PMIx library of this process accepts connections by way of pmix_door.cpp, where only
// the same user's and root's processes are let in. False where a library that was loaded before
// it (LD_PRELOAD) has an accept of its own.
bool pmix_door_is_guarded();

// The server listens on the loopback device. Where that is down, as in a namespace of a network that nobody has set up,
// the library has several sentences of its own.
bool loopback_is_up();

// From here on also those are turned away of whom the kernel does not tell whose they are. Where it tells at all, that is
// a moment's trouble.
void let_only_known_peers_in();

}  // namespace tutti::launcher
