// SPDX-License-Identifier: BSD-3-Clause
#include "base/file_text.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tutti {

Result<std::string> text_of(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(MPI_ERR_FILE, "{}", std::strerror(errno));
  std::string out;
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n > 0) {
      out.append(bytes, static_cast<size_t>(n));
    } else if (n == 0) {
      ::close(fd);
      return out;
    } else if (errno != EINTR) {
      const int problem = errno;
      ::close(fd);
      return failure(MPI_ERR_FILE, "{}", problem == EISDIR ? "it is a folder" : std::strerror(problem));
    }
  }
}

}  // namespace tutti
