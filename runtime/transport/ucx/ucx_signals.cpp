// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_signals.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <ucs/debug/debug.h>

#include <cstdlib>
#include <string_view>

#include "base/os/crash_handler.hpp"
#include "base/os/thread_sanitizer.hpp"

namespace tutti::transport {
namespace {

bool has_of_ucx(int signal) {
  struct sigaction now{};
  Dl_info place{};
  if (::sigaction(signal, nullptr, &now) != 0 || !(now.sa_flags & SA_SIGINFO)) return false;
  if (::dladdr(reinterpret_cast<void*>(now.sa_sigaction), &place) == 0 || !place.dli_fname) return false;
  return std::string_view(place.dli_fname).find("/libucs.so") != std::string_view::npos;
}

// In front of the program's own code, so that what it sets stays. Not under ThreadSanitizer, which has not seen how UCX
// takes the lock that it gives back there, and has handlers of its own.
__attribute__((constructor)) void take_faults() {
  if (is_under_thread_sanitizer()) return;
  if (!std::getenv("UCX_ERROR_SIGNALS") && !std::getenv("UCX_HANDLE_ERRORS"))
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
      if (has_of_ucx(signal)) ucs_debug_disable_signal(signal);
  crash::watch();
}

}  // namespace

void watch_faults() {
  if (!is_under_thread_sanitizer()) crash::watch();
}

}  // namespace tutti::transport
