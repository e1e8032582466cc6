// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/file/shared_pointer.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace tutti::mpi::file {
namespace {

constexpr size_t kBytes = 4096;

}  // namespace

SharedPointer::~SharedPointer() {
  use(false);
}

SharedPointer::Offer SharedPointer::offer(int64_t value) {
  uint64_t mark = 0;
  if (::getrandom(&mark, sizeof mark, GRND_NONBLOCK) != sizeof mark) return {};
  descriptor_ = ::memfd_create("tutti-shared-pointer", MFD_CLOEXEC);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, kBytes) != 0) return {};
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) return {};
  page_ = static_cast<Page*>(memory);
  page_->value = value;
  page_->mark = mark;
  return {::getpid(), descriptor_, mark};
}

bool SharedPointer::accept(const Offer& offer) {
  if (offer.descriptor < 0) return false;
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.process, offer.descriptor);
  // Judged before it is opened: what has these numbers here may be a pipe, or a device.
  struct stat about;
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size != kBytes) return false;
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  void* memory = MAP_FAILED;
  if (::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == kBytes)
    memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return false;
  page_ = static_cast<Page*>(memory);
  return page_->mark == offer.mark;
}

void SharedPointer::use(bool all_have_it) {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  used_ = all_have_it;
  if (used_ || !page_) return;
  ::munmap(page_, kBytes);
  page_ = nullptr;
}

}  // namespace tutti::mpi::file
