// SPDX-License-Identifier: BSD-3-Clause
// Keeps UCX's hooks into memory calls from crashing programs that run under ThreadSanitizer. To be called
// while the library is loaded, once UCX is, and before there is a thread that could end. Does nothing in
// other programs.
#pragma once

namespace tutti::transport {

void spare_thread_sanitizer();

}  // namespace tutti::transport
