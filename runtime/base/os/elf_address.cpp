// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/elf_address.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace tutti {

namespace {

// Opening a pipe would wait for who writes to it.
class File {
 public:
  explicit File(const std::string& name) : fd_(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    struct stat about{};
    plain_ = fd_ >= 0 && ::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode);
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;

  template <class Part>
  bool read(Part& part, uint64_t at) const {
    return plain_ && ::pread(fd_, &part, sizeof part, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof part);
  }

 private:
  const int fd_;
  bool plain_ = false;
};

}  // namespace

uint64_t address_at_file_offset(const std::string& file, uint64_t offset) {
  const File in(file);
  Elf64_Ehdr header{};
  if (!in.read(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return offset;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!in.read(segment, header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize)) return offset;
    if (segment.p_type == PT_LOAD && offset >= segment.p_offset && offset < segment.p_offset + segment.p_filesz)
      return offset - segment.p_offset + segment.p_vaddr;
  }
  return offset;
}

}  // namespace tutti
