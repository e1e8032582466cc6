// SPDX-License-Identifier: BSD-3-Clause
// The part of the flight record that tells of files: which call of the operating system a thread of
// the rank is in, for which file, and where in it. It stands behind the record proper, in the same
// memory.
#pragma once

#include "base/flight.hpp"

namespace tutti::flight {

// A call of the operating system that a thread of the process is in, for a file of MPI.
enum class FileDoes : uint8_t { nothing, reads, writes, locks, syncs, resizes, opens, closes };
struct FileCall {
  int64_t offset = 0, bytes = 0;  // bytes: of the size, where it resizes
  int32_t file = -1;              // in Record::files
  FileDoes does = FileDoes::nothing;
};
inline constexpr int kFiles = 32, kFileCalls = 16;
struct FileName {
  char name[120] = {};  // its end, where it is longer
};

struct FileRecord {
  FileName files[kFiles];      // open ones, and some that were
  FileCall calls[kFileCalls];  // by thread, more or less
};
inline constexpr size_t kFileRecordAt = (sizeof(Record) + 63) / 64 * 64;
inline constexpr size_t kMemoryBytes = kFileRecordAt + sizeof(FileRecord);

// ---- writing

int file_opened(std::string_view name);  // its place

// The profile hears of each such call when it is over, from the thread that was in it, which may hold locks of the file. Of
// `unit` bytes the file system has a block, or a stripe; 0: it was not asked.
using FileListener = void (*)(const FileCall& call, int64_t unit, uint64_t begun, uint64_t now);
void set_file_listener(FileListener listener);  // once, before a file is opened
namespace inside {
// Relaxed: it is a function's address, which says nothing of other memory.
extern std::atomic<FileListener> file_listener;
}  // namespace inside
inline bool files_are_heard() {
  return inside::file_listener.load(std::memory_order_relaxed) != nullptr;
}

// While it lives, its thread is in a call for the file; or, where it does nothing, waits for another thread of the process
// that is. One line of memory, and no clock unless somebody hears of it.
class AtFile {
 public:
  AtFile(int file, FileDoes does, int64_t offset, int64_t bytes, int64_t unit = 0)
      : call_{offset, bytes, file, does}, unit_(unit), place_(place()), begun_(files_are_heard() ? clock_now() : 0) {
    if (!place_) return;
    set(place_->offset, offset);
    set(place_->bytes, bytes);
    set(place_->file, file);
    set(place_->does, does);
  }
  ~AtFile() {
    if (place_) set(place_->does, FileDoes::nothing);
    if (begun_ != 0) [[unlikely]]
      tell();
  }
  AtFile(const AtFile&) = delete;

 private:
  static FileCall* place();  // nullptr: there is no record
  [[gnu::cold]] void tell() const;
  const FileCall call_;
  const int64_t unit_;
  FileCall* const place_;
  const uint64_t begun_;
};

// ---- reading

// Makes a copy of another process's one that may be given to what follows, whatever stands in it.
void make_sound(FileRecord& copy);
// "in pwrite, 4096 bytes at offset 512 of out.dat", for each thread that is in a call.
std::string file_calls_text(const FileRecord& record);

}  // namespace tutti::flight
