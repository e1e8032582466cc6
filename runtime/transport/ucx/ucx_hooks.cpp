// SPDX-License-Identifier: BSD-3-Clause
// Programs under ThreadSanitizer: UCX's hooks into memory calls. As soon as UCX is loaded, they stand in
// front of libc's mmap, madvise and their kin, and take a lock. libc calls madvise also in a thread that
// ends, of which ThreadSanitizer knows nothing any more, and crashes in its own version of the lock's
// functions. UCX_MEM_MMAP_HOOK_MODE=none would keep the hooks away, but UCX reads it before any code of ours
// can set it. So here the hooks get libc's functions of the lock instead, and nothing may ask them to be
// told of memory, which takes more locks; UCX then caches no registrations, as without hooks.
#include "transport/ucx/ucx_hooks.hpp"

#include <dlfcn.h>
#include <ucm/api/ucm.h>

#include <string>
#include <string_view>

#include "base/os/call_slots.hpp"
#include "base/os/thread_sanitizer.hpp"

namespace tutti::transport {
namespace {

ucs_status_t no_events(int, int, ucm_event_callback_t, void*) {
  return UCS_ERR_UNSUPPORTED;
}

void* libc_of_hooks = nullptr;

void* instead_under_thread_sanitizer(std::string_view name) {
  if (name == "ucm_set_event_handler") return reinterpret_cast<void*>(&no_events);
  return name.starts_with("pthread_rwlock_") ? ::dlsym(libc_of_hooks, std::string(name).c_str()) : nullptr;
}

}  // namespace

void spare_thread_sanitizer() {
  if (!is_under_thread_sanitizer()) return;
  libc_of_hooks = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc_of_hooks == nullptr) return;
  constexpr std::string_view kLibraries[] = {"/libucm.so", "/libucs.so"};
  redirect_calls(kLibraries, instead_under_thread_sanitizer);
  ::dlclose(libc_of_hooks);
}

}  // namespace tutti::transport
