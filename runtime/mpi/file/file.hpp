// SPDX-License-Identifier: BSD-3-Clause
// Files (the standard, chapter 14): a communicator of the file's own, with a window whose memory at
// rank 0 is the shared pointer, where the ranks are not all on one node; the view, the individual
// pointer, modes and hints. How bytes get to the device is io/'s.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "base/function.hpp"
#include "base/mutex.hpp"
#include "io/file_bytes.hpp"
#include "io/stage.hpp"
#include "io/worker_pool.hpp"
#include "mpi/file/hints.hpp"
#include "mpi/file/shared_pointer.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/request/watch.hpp"
#include "mpi/rma/window.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi::file {

struct Representation;
class FileRequest;
class Written;

// What MPI_File_set_view has set; constant, and kept by what is under way. Positions are bytes as
// they lie in the file, without holes.
struct FileView {
  io::View bytes;
  int64_t etype_bytes = 1;  // of one in the file
  bool overlaps = false;    // pieces of one tile share bytes, as those of a file that is read alone may
  Ref<Datatype> etype, filetype;
  std::shared_ptr<const Representation> representation;
};

// Large: it is an object of the standard, with a field for each thing that one knows of a file.
class File final : public HasErrhandler {
 public:
  File(Ref<Window> window, std::string name, int amode, Ref<Errhandler> errhandler);
  ~File() override;

  Comm& comm() const { return *window->comm; }
  int rank() const { return comm().rank(); }
  int size() const { return comm().size(); }
  bool is_sequential() const { return (amode & MPI_MODE_SEQUENTIAL) != 0; }
  std::shared_ptr<const FileView> current_view() const;

  int call_user(const Errhandler& with, int code) override {
    return call_with_handle<MPI_File_errhandler_function>(with, handle, code);
  }
  contract::Ledger* ledger() const override { return window->ledger(); }
  std::string description() const override;
  const char* noun() const override { return "file"; }

  const Ref<Window> window;
  const Ref<Group> group;  // of the communicator that it was opened on
  const int amode;
  SharedPointer pointer;
  std::unique_ptr<io::FileBytes> io;  // nullptr: it could not be opened
  mutable Mutex mutex;                // several threads of the program, and of the pool, may ask for what it guards
  Hints hints TUTTI_GUARDED_BY(mutex);
  std::shared_ptr<const FileView> view TUTTI_GUARDED_BY(mutex);
  int64_t position TUTTI_GUARDED_BY(mutex) = 0;  // the individual pointer, in etypes
  bool atomic TUTTI_GUARDED_BY(mutex) = false;
  // The first rank whose view is another than rank 0's; 0: they are alike.
  int other_view TUTTI_GUARDED_BY(mutex) = 0;

  // The split collective that has begun and has not ended. Only collective calls ask for it, which the program makes
  // one after the other.
  struct Split {
    Function began{};
    const void* buffer = nullptr;
    Ref<Request> request;
    Watchers watchers;
  };
  Split split;

  // Nonblocking and split collective accesses that are under way. Their exchanges go over the
  // file's communicator, so they take their turns, and blocking collective calls on the file come
  // after them.
  std::deque<FileRequest*> turns TUTTI_OWNERS;
  std::atomic<int> waiting_turns{0};
  std::vector<io::Stage> stages TUTTI_GUARDED_BY(mutex);  // memory of collective accesses that are over
  const std::shared_ptr<io::Queue> steps = io::make_queue();
  std::atomic<int> accesses{0};  // that have a request, and are not complete
  std::atomic<int> untold{0};    // whose request the program has, and was not told that it is complete

  // All ranks' views, once a collective access has asked for them after MPI_File_set_view.
  std::shared_ptr<const std::vector<io::View>> views TUTTI_GUARDED_BY(mutex);
  bool views_too_large TUTTI_GUARDED_BY(mutex) = false;

  std::unique_ptr<Written> written;  // under --check=strict (written.hpp)

  MPI_File handle = MPI_FILE_NULL;
};

// For what several threads of the program may ask for at once: the file's mutex, which is not taken where the program
// calls from one thread at a time. Not for what threads of the pool change, which is all ranks' views and the memory
// that is kept: that takes the mutex itself. clang is told that it is held either way, and proves no more than that
// nobody touches the rest without one of the two.
class TUTTI_SCOPED_CAPABILITY FileLock {
 public:
  explicit FileLock(const File& file) TUTTI_ACQUIRES(file.mutex)
      : mutex_(current.concurrent_calls ? &file.mutex : nullptr) {
    if (mutex_) mutex_->lock();
  }
  ~FileLock() TUTTI_RELEASES() {
    if (mutex_) mutex_->unlock();
  }
  FileLock(const FileLock&) = delete;

 private:
  Mutex* const mutex_;  // nullptr: not taken
};

inline std::shared_ptr<const FileView> File::current_view() const {
  const FileLock lock(*this);
  return view;
}

// What stands for MPI_FILE_NULL where errors are raised; its handler is that of the files that are
// opened.
HasErrhandler& null_file();

// An Error is what all ranks have: nobody goes on if one cannot. The first failing rank's sentence
// reaches those that have none of their own. Collective on the file, in the program's call
// `function`.
Error agree(Comm& comm, Function function, Error mine);

// An error while a split collective has begun and not ended.
Error no_split(const File& file);
// An error where the ranks' views differ, and with them what a shared pointer means.
Error alike_views(const File& file);
// Before each blocking collective call on the file: waits for the nonblocking ones that have begun.
void await_earlier(File& file);

// Moves the shared pointer by `etypes`, and tells where it was. Any rank, whenever it likes.
Error advance_shared(File& file, int64_t etypes, int64_t& before);
Error set_shared(File& file, int64_t etypes);

// The default view: a stream of bytes.
std::shared_ptr<const FileView> byte_view(int64_t displacement = 0);

}  // namespace tutti::mpi::file
