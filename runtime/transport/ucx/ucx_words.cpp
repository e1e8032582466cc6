// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_words.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/os/late_word.hpp"
#include "base/os/thread_sanitizer.hpp"
#include "transport/ends.hpp"

namespace tutti::transport {
namespace {

std::atomic<bool> are_left_out{false};

// UCX ends the process behind a fatal word, with a call stack, for instance when it reads the memory of a process
// that was killed. Whoever has seen that end ends this process within the time.
[[noreturn]] void end_of_ucx() {
  std::this_thread::sleep_for(kTimeToEnd + std::chrono::seconds(1));
  std::abort();
}

ucs_log_func_rc_t keep_back(const char*, unsigned, const char*, ucs_log_level_t level,
                            const ucs_log_component_config_t*, const char* format, va_list arguments) {
  // A warning there is of requests to those who have failed, which never end and are left when UCX closes.
  if (are_left_out && (level == UCS_LOG_LEVEL_ERROR || level == UCS_LOG_LEVEL_WARN)) return UCS_LOG_FUNC_RC_STOP;
  if (level > UCS_LOG_LEVEL_ERROR) return UCS_LOG_FUNC_RC_CONTINUE;
  char text[512];
  va_list copy;
  va_copy(copy, arguments);
  std::vsnprintf(text, sizeof text, format, copy);
  va_end(copy);
  say_unless_ended(std::string("UCX: ") + text);
  if (level == UCS_LOG_LEVEL_FATAL) end_of_ucx();
  return UCS_LOG_FUNC_RC_STOP;
}

// As soon as it is loaded UCX takes SIGHUP, to print a call stack, and the process does not end by it any more. Here, in
// front of the program's own code, the signal gets back what it had; unless the user wants that of UCX. Not under
// ThreadSanitizer, which has not seen how UCX takes the lock that it gives back there.
__attribute__((constructor)) void give_back_hangup() {
  if (is_under_thread_sanitizer()) return;
  struct sigaction now{};
  Dl_info place{};
  if (std::getenv("UCX_DEBUG_SIGNO") || ::sigaction(SIGHUP, nullptr, &now) != 0) return;
  if (::dladdr(reinterpret_cast<void*>(now.sa_sigaction), &place) == 0 || !place.dli_fname) return;
  if (std::string_view(place.dli_fname).find("/libucs.so") != std::string_view::npos) ucs_debug_disable_signal(SIGHUP);
}

}  // namespace

void say_no_ucx_errors() {
  are_left_out = true;
}

bool says_ucx_errors() {
  return !are_left_out;
}

void keep_back_ucx_errors() {
  are_left_out = false;
  static const bool once = [] {
    if (!std::getenv("UCX_LOG_LEVEL")) ucs_log_push_handler(keep_back);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace tutti::transport
