// SPDX-License-Identifier: BSD-3-Clause
// What keeps UCX's hooks into memory calls from crashing programs that run under ThreadSanitizer.
#pragma once

namespace tutti::transport {

// To be called while the library is loaded, once UCX is, and before there is a thread that could end. Does nothing in
// other programs.
void spare_thread_sanitizer();

}  // namespace tutti::transport
