// SPDX-License-Identifier: BSD-3-Clause
// A file as one process uses it: bytes of memory to and from positions of a view, whatever gaps
// either has. Owns the storage and what is done about calls that move too little, are interrupted,
// or fail. Knows nothing of communicators, pointers or modes. Any thread may call, several at once.
//
// Memory with gaps goes through a staging buffer, or, where its pieces and the file's are large, to
// the storage as it is, many pieces in a call. A read of pieces that lie close together reads
// what is between them, too (data sieving); a write touches nothing but its pieces, for another
// process may be writing what lies between them, which is legal.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/flight_files.hpp"
#include "base/layout.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "io/view.hpp"

namespace tutti::io {

// `memory` and as many positions of the view. Borrowed until the access is over.
struct Access {
  const View& view;
  int64_t position = 0;
  Payload memory;
  int64_t bytes = 0;    // at most the memory's
  bool atomic = false;  // nobody sees or makes half of it
};

// How far it has come, also if it has failed. A read that meets the end of the file has not failed.
struct Transferred {
  int64_t bytes = 0;
  Error error;
};

class FileBytes {
 public:
  FileBytes(std::string name, std::unique_ptr<Storage> storage)
      : name_(std::move(name)), storage_(std::move(storage)), place_(flight::file_opened(name_)) {}

  Transferred read(const Access& access);
  Transferred write(const Access& access);
  // The same of one run of bytes of the file.
  Transferred read(int64_t offset, std::byte* into, int64_t bytes);
  Transferred write(int64_t offset, const std::byte* from, int64_t bytes);

  Error size(int64_t& bytes);
  Error resize(int64_t bytes);
  Error reserve(int64_t bytes);
  Error sync();
  Error close();  // once, as the last of all; it is closed whatever this says
  int64_t block_size() { return storage_->block_size(); }
  Stripes stripes() {  // asked for once: they are given to a file when it is made
    std::call_once(asked_, [this] { stripes_ = storage_->stripes(); });
    return stripes_;
  }
  Identity identity() {
    std::call_once(identified_, [this] { identity_ = storage_->identity(); });
    return identity_;
  }
  // What the file system moves in one piece: a stripe, or a block.
  int64_t unit() {
    std::call_once(measured_, [this] { unit_ = stripes().bytes > 0 ? stripes().bytes : block_size(); });
    return unit_;
  }
  void mark_open(int rank) { storage_->mark_open(rank); }
  const std::string& name() const { return name_; }

 private:
  friend class Sieve;
  Transferred move_parts(const Access& access, bool writes);
  Transferred move_parts(int64_t offset, const Payload& memory, int64_t from, int64_t bytes, bool writes);
  Transferred read_chunk(const View& view, int64_t position, std::byte* into, int64_t bytes);
  Transferred write_chunk(const View& view, int64_t position, const std::byte* from, int64_t bytes);
  int64_t heard_unit() { return flight::files_are_heard() ? unit() : 0; }
  Transferred with_lock(const Access& access, bool shared, const std::function<Transferred()>& move);

  const std::string name_;
  const std::unique_ptr<Storage> storage_;
  const int place_;  // in the flight record
  std::once_flag asked_, identified_, measured_;
  Stripes stripes_;
  Identity identity_;
  int64_t unit_ = 0;
  Mutex atomic_;  // threads of this process share the storage's locks
};

// The class of MPI for errno's number, and the sentence of it: "data.bin: writing 4096 bytes at
// 512: No space left on device".
int class_of(int error);
Error failure_of(const std::string& file, const std::string& doing, int error);

}  // namespace tutti::io
