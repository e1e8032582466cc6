// SPDX-License-Identifier: BSD-3-Clause
// The contract of file systems: what a file can do, in the words of POSIX. Offsets and lengths are
// bytes, errors are errno's numbers, 0 is success. Any thread may call, several at once. A call may
// move less than it was asked for, or be interrupted (EINTR): io/file_bytes.hpp goes on from there. What
// moves no bytes answers when it is done, however often a signal interrupts it.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/identity.hpp"

namespace tutti::io {

struct Moved {
  int64_t bytes = 0;  // of a read 0: the file ends here
  int error = 0;
};

// How a file system lays a file out: in units that go around among so many devices. 0: it does not
// say.
struct Stripes {
  int64_t bytes = 0, count = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;  // closes it, unless that has been done

  // Once, with no other call under way or to come. The last word on what was written: file systems
  // of the network may keep it back until now (EIO, ENOSPC, EDQUOT). Whatever it says, it is closed.
  virtual int close() = 0;

  virtual Moved read(int64_t offset, void* into, int64_t bytes) = 0;
  virtual Moved write(int64_t offset, const void* from, int64_t bytes) = 0;
  // The same of one run of bytes of the file with pieces of memory, one behind the other: at most
  // kMostParts of them, none empty.
  static constexpr size_t kMostParts = 1024;
  virtual Moved read(int64_t offset, std::span<const iovec> into) = 0;
  virtual Moved write(int64_t offset, std::span<const iovec> from) = 0;
  virtual int size(int64_t& bytes) = 0;
  virtual int resize(int64_t bytes) = 0;   // what is new reads as zeros
  virtual int reserve(int64_t bytes) = 0;  // room on the device for so many from the beginning; the
                                           // file is that long then
  virtual int sync() = 0;
  // A byte range, which every other open of the file sees, also those of this process. `shared`:
  // for reading. Waits for it. A process that ends leaves none.
  virtual int lock(int64_t offset, int64_t bytes, bool shared) = 0;
  virtual int unlock(int64_t offset, int64_t bytes) = 0;
  virtual int64_t block_size() = 0;  // what the file system likes to move at a time
  virtual Stripes stripes() { return {}; }
  virtual Identity identity() { return {}; }
  // Others of the machine can see that it is open, by this rank; see io/open_mark.hpp.
  virtual void mark_open(int) {}
};

struct Opening {
  bool read = true, write = false, create = false, exclusive = false;
  int permissions = 0666;  // of a new file, before the umask
};

// nullptr, and errno's number in `error`, if it cannot be opened.
std::unique_ptr<Storage> open_posix(const std::string& path, const Opening& how, int& error);
int remove_posix(const std::string& path);

// From Lustre's extended attribute lustre.lov, versions 1 and 3.
Stripes stripes_of_lustre(const unsigned char* attribute, size_t bytes);

}  // namespace tutti::io
