// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/spawn_words.hpp"

#include <dirent.h>

#include <cstdlib>

namespace tutti {

#ifdef __GLIBC__
void SpawnActions::close_from(int first) {
  ::posix_spawn_file_actions_addclosefrom_np(&files, first);
}
#else
// Each that is open now. Those that other threads open meanwhile have O_CLOEXEC, if they are this library's.
void SpawnActions::close_from(int first) {
  DIR* const open = ::opendir("/proc/self/fd");
  if (!open) return;
  while (const dirent* const each = ::readdir(open)) {
    char* end = nullptr;
    const long fd = std::strtol(each->d_name, &end, 10);
    // The folder's own is closed before the process is made, and to close it again would be an error.
    if (end != each->d_name && fd >= first && fd != ::dirfd(open))
      ::posix_spawn_file_actions_addclose(&files, static_cast<int>(fd));
  }
  ::closedir(open);
}
#endif

}  // namespace tutti
