// SPDX-License-Identifier: BSD-3-Clause
// Opening, closing and deleting files (the standard, sections 14.2.1 to 14.2.3).
#include "mpi/file/file.hpp"

#include <mpi-ext.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "base/mutex.hpp"
#include "boot/joining.hpp"
#include "contract/ledger.hpp"
#include "contract/signature.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "io/open_mark.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/file/api_file.hpp"
#include "mpi/file/file_name.hpp"
#include "mpi/file/representation.hpp"
#include "mpi/file/told_failure.hpp"
#include "mpi/file/written.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/rma/api_window.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::file {
namespace {

// Errors that belong to no file.
class NullFile final : public HasErrhandler {
 public:
  NullFile()
      : HasErrhandler(Tag::file, Errhandler::On::file, Ref<Errhandler>(&predefined_errhandler(MPI_ERRORS_RETURN))) {
    live_for_ever();
  }
  int call_user(const Errhandler& with, int code) override {
    return call_with_handle<MPI_File_errhandler_function>(with, MPI_FILE_NULL, code);
  }
  std::string description() const override { return "MPI_FILE_NULL"; }
  const char* noun() const override { return "file"; }
};

constexpr int kAccessModes = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR;
constexpr int kModes = kAccessModes | MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                       MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN;

// "MPI_MODE_CREATE | MPI_MODE_RDWR"; bits that mean nothing stand behind them as a number.
std::string mode_text(int amode) {
  static constexpr std::pair<int, const char*> kNames[] = {{MPI_MODE_APPEND, "MPI_MODE_APPEND"},
                                                           {MPI_MODE_CREATE, "MPI_MODE_CREATE"},
                                                           {MPI_MODE_DELETE_ON_CLOSE, "MPI_MODE_DELETE_ON_CLOSE"},
                                                           {MPI_MODE_EXCL, "MPI_MODE_EXCL"},
                                                           {MPI_MODE_RDONLY, "MPI_MODE_RDONLY"},
                                                           {MPI_MODE_RDWR, "MPI_MODE_RDWR"},
                                                           {MPI_MODE_SEQUENTIAL, "MPI_MODE_SEQUENTIAL"},
                                                           {MPI_MODE_UNIQUE_OPEN, "MPI_MODE_UNIQUE_OPEN"},
                                                           {MPI_MODE_WRONLY, "MPI_MODE_WRONLY"}};
  std::string text;
  const auto add = [&](std::string_view part) { text += fmt::format("{}{}", text.empty() ? "" : " | ", part); };
  for (const auto& [bit, name] : kNames)
    if (amode & bit) add(name);
  if (const auto rest = static_cast<unsigned>(amode & ~kModes); rest || text.empty()) add(fmt::format("{:#x}", rest));
  return text;
}

Error check_mode(int amode) {
  const auto wrong = [&](const char* why) {
    return failure(MPI_ERR_AMODE, "{} (argument amode, {})", why, mode_text(amode));
  };
  if (amode & ~kModes) return wrong("the access mode has bits that mean nothing");
  const int access = amode & kAccessModes;
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR)
    return wrong("the access mode wants exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR");
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
    return wrong("MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
  if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL))
    return wrong("MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
  return {};
}

Error open_storage(File& file, const std::string& path, bool exclusive) {
  io::Opening how;
  how.read = !(file.amode & MPI_MODE_WRONLY);
  how.write = !(file.amode & MPI_MODE_RDONLY);
  how.create = (file.amode & MPI_MODE_CREATE) != 0;
  how.exclusive = exclusive;
  {
    const Lock lock(file.mutex);
    how.permissions = file.hints.permissions;
  }
  int error = 0;
  std::unique_ptr<io::Storage> storage = io::open_posix(path, how, error);
  if (!storage) return io::failure_of(path, "opening it", error);
  file.io = std::make_unique<io::FileBytes>(path, std::move(storage));
  return {};
}

// A pair of ranks that have opened two files; `differ` says how sure that is.
struct Apart {
  int a, b;
  io::Differ differ;
};
std::optional<Apart> find_apart(const std::vector<io::Identity>& each, bool written) {
  std::optional<Apart> found;
  // Ranks of a machine are compared with its first one, and that with rank 0.
  std::map<uint64_t, int> first_of;
  for (int r = 0; r < static_cast<int>(each.size()); ++r) {
    const io::Identity& mine = each[static_cast<size_t>(r)];
    const auto [first, is_new] = first_of.emplace(mine.machine, r);
    const int other = is_new ? 0 : first->second;
    const io::Differ how = io::differ(each[static_cast<size_t>(other)], mine, written);
    if (how == io::Differ::certain) return Apart{other, r, how};
    if (how == io::Differ::by_machine && !found) found = Apart{other, r, how};
  }
  return found;
}

Error two_files(const Apart& apart, const char* one, const std::string& other) {
  if (apart.differ == io::Differ::certain)
    return failure(MPI_ERR_NOT_SAME,
                   "{} of rank {} and {} of rank {} are two files: names may be spelt in different "
                   "ways, but must mean one file (the standard, section 14.2.1; argument filename)",
                   one, apart.a, other, apart.b);
  return strict->found(
      failure(MPI_ERR_NOT_SAME,
              "{} of rank {} and {} of rank {}, on another machine, are two files: what one writes the "
              "other does not read; use a folder that the machines share (the standard, section 14.2.1; "
              "argument filename)",
              one, apart.a, other, apart.b));
}

// All ranks find the same. What is on the disks of several machines is told under --check=strict
// alone: programs have lived with that.
Error same_file(File& file, const std::vector<io::Identity>& each) {
  if (!file.ledger()) return {};
  const std::optional<Apart> apart = find_apart(each, !(file.amode & MPI_MODE_RDONLY));
  if (!apart || (apart->differ == io::Differ::by_machine && !strict)) return {};
  char name[1024] = "";
  if (file.rank() == apart->a) file.name.copy(name, sizeof name - 1);
  coll::Call call = bcast_bytes(name, sizeof name, apart->a);
  call.signature = contract::word_of(Function::File_open, apart->a);
  if (Error e = run(file.comm(), call)) return e;
  Error mine;
  if (file.rank() == apart->b) mine = two_files(*apart, name, file.name);
  return agree(file.comm(), Function::File_open, std::move(mine));
}

// Rank 0 creates it, if anybody does, and only then others look.
Error open_everywhere(File& file, const std::string& path) {
  Error mine;
  struct {
    int32_t failed;
    SharedPointer::Offer pointer;
  } first{};
  if (file.rank() == 0) {
    mine = open_storage(file, path, (file.amode & MPI_MODE_EXCL) != 0);
    // For a shared pointer and a view begin there.
    int64_t end = 0;
    if (!mine && (file.amode & MPI_MODE_APPEND)) mine = file.io->size(end);
    if (!mine) mine = set_shared(file, end);
    first.failed = mine.mpi_class();
    // Where they share nothing else, they shall not share this.
    const bool shares = file.comm().hidden.area && !survivor_of(file.comm());
    if (!mine && (shares || file.size() == 1)) first.pointer = file.pointer.offer(end);
  }
  coll::Call call = bcast_bytes(&first, sizeof first, 0);
  call.signature = contract::word_of(Function::File_open);
  if (Error e = run(file.comm(), call)) return e;
  if (first.failed) return tell_failure(file.comm(), Function::File_open, 0, std::move(mine));
  if (file.rank() != 0) mine = open_storage(file, path, false);
  if (!mine && (file.amode & MPI_MODE_APPEND)) {
    const Lock lock(file.mutex);
    mine = file.io->size(file.position);
  }
  struct Said {
    int32_t failed, has_pointer;
    io::Identity what;
  };
  std::vector<Said> all;
  const bool has = file.rank() == 0 ? first.pointer.descriptor >= 0 : file.pointer.accept(first.pointer);
  const Said said{mine.mpi_class(), has, mine ? io::Identity{} : file.io->identity()};
  if (Error e = exchange(file.comm(), Function::File_open, said, all)) return e;
  file.pointer.use(std::ranges::all_of(all, [](const Said& s) { return s.has_pointer != 0; }));
  const auto failed = std::ranges::find_if(all, [](const Said& s) { return s.failed != 0; });
  if (failed != all.end())
    return tell_failure(file.comm(), Function::File_open, static_cast<int>(failed - all.begin()), std::move(mine));
  std::vector<io::Identity> each;
  for (const Said& s : all) each.push_back(s.what);
  return same_file(file, each);
}

Error same_mode(Comm& comm, int amode, Error mine) {
  struct Said {
    int32_t amode, failed;
  };
  std::vector<Said> all;
  if (Error e = exchange(comm, Function::File_open, Said{amode, mine.mpi_class()}, all)) return e;
  const auto failed = std::ranges::find_if(all, [](const Said& s) { return s.failed != 0; });
  if (failed != all.end())
    return tell_failure(comm, Function::File_open, static_cast<int>(failed - all.begin()), std::move(mine));
  const auto other = std::ranges::find_if(all, [&](const Said& s) { return s.amode != all[0].amode; });
  if (other == all.end()) return {};
  return failure(MPI_ERR_NOT_SAME, "rank 0 opens the file with the access mode {}, rank {} with {}",
                 mode_text(all[0].amode), other - all.begin(), mode_text(other->amode));
}

// Which files are open, under --check=strict: by what they are, for a name may have come to mean
// another file. Those of this process, with the call that has opened each; other processes of the
// machine say so by a mark that names the file (io/open_mark.hpp). Any thread.
//
// MPI_File_close removes the mark before the barrier that all ranks leave it by, so that whoever
// deletes a file after that finds none.
class OpenFiles {
 public:
  void add(const File& file) {
    file.io->mark_open(own_job().view().rank);
    struct stat about{};
    if (::stat(file.name.c_str(), &about) != 0) return;
    const Lock lock(mutex_);
    files_[&file] = {about.st_dev, about.st_ino, here()};
  }
  void drop(const File& file) {
    const Lock lock(mutex_);
    files_.erase(&file);
  }
  // A link goes alone, and so does one of several names.
  Error refuse_to_delete(const char* path) {
    struct stat about{};
    if (::lstat(path, &about) != 0 || about.st_nlink != 1) return {};
    const Lock lock(mutex_);
    for (const auto& [file, known] : files_) {
      if (known.device != about.st_dev || known.number != about.st_ino) continue;
      mentions().push_back({"the file was opened by", known.opened});
      return failure(MPI_ERR_FILE_IN_USE,
                     "{}: this process has the file open: what its accesses do once it is deleted, "
                     "and whether it is, differs between implementations (the standard, section "
                     "14.2.3): close it first, or open it with MPI_MODE_DELETE_ON_CLOSE (argument "
                     "filename)",
                     path);
    }
    if (const std::optional<io::Opener> other = io::find_opener(path))
      return failure(MPI_ERR_FILE_IN_USE,
                     "{}: process {} of this machine, which is rank {} of its job, has the file "
                     "open: what its accesses do once it is deleted differs between implementations "
                     "(the standard, section 14.2.3): let it close the file first (argument filename)",
                     path, other->process, other->rank);
    return {};
  }

 private:
  struct Known {
    dev_t device;
    ino_t number;
    CallSite opened;
  };
  Mutex mutex_;
  std::map<const File*, Known> files_ TUTTI_GUARDED_BY(mutex_);
};

OpenFiles& open_files() {
  static OpenFiles& only = *new OpenFiles;
  return only;
}

Error free_window(Window& window) {
  MPI_Win handle = window.handle;
  return one_sided::win_free(&handle);
}

// The window of a file: one integer at rank 0. Other ranks may ask for it as soon as it is there.
Result<Ref<Window>> open_pointer(Comm& comm) {
  const bool owner = comm.rank() == 0;
  Result<Ref<Window>> made =
      one_sided::make_window(comm, Function::File_open, MPI_WIN_FLAVOR_ALLOCATE, nullptr, {owner ? 8 : 0, 8});
  if (!made) return made;
  Window& window = **made;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, 64) != 0) return failure(MPI_ERR_NO_MEM, "there is no memory for a file");
  std::memset(memory, 0, 64);
  window.allocated.reset(memory);
  window.base = memory;
  {
    const engine::Engine::Guard own(window.comm->engine());
    window.protocol->target().memory().set_base(memory);
    window.protocol->open();
  }
  window.retain();  // what win_free() gives up
  if (Error e = one_sided::win_lock_all(MPI_MODE_NOCHECK, window)) return e;
  return made;
}

}  // namespace

HasErrhandler& null_file() {
  static NullFile& only = *new NullFile;
  return only;
}

File::File(Ref<Window> window, std::string path, int amode, Ref<Errhandler> errhandler)
    : HasErrhandler(Tag::file, Errhandler::On::file, std::move(errhandler)),
      window(std::move(window)),
      group(this->window->comm->group),
      amode(amode),
      view(byte_view()),
      handle(handle_of(*this)) {
  name = std::move(path);
  if (strict) [[unlikely]]
    written = std::make_unique<Written>();
}

File::~File() = default;

std::string File::description() const {
  return fmt::format("the file {} ({} {})", name, size(), size() == 1 ? "rank" : "ranks");
}

std::shared_ptr<const FileView> byte_view(int64_t displacement) {
  FileView made;
  made.bytes.displacement = displacement;
  made.etype = made.filetype = Ref<Datatype>(resolve<Datatype>(MPI_BYTE));
  made.representation = native_representation();
  return std::make_shared<const FileView>(std::move(made));
}

Error file_open(Comm& comm, const char* filename, int amode, Info* info, MPI_File* fh) {
  if (comm.is_inter()) return failure(MPI_ERR_COMM, "a file wants an intracommunicator (argument comm)");
  filename = path_of(filename);
  Result<Ref<Window>> window = open_pointer(comm);
  if (!window) return std::move(window).error();
  auto file = Ref<File>::adopt(new File(*window, filename, amode, null_file().errhandler));
  file->comm().set_name(fmt::format("the file {}", filename));
  if (file->ledger()) file->ledger()->set_fatal(file->errhandler->ends_job());
  {
    const Lock lock(file->mutex);
    file->hints.take(info, file->rank() == 0);
  }
  Error error = same_mode(file->comm(), amode, check_mode(amode));
  if (!error) error = open_everywhere(*file, filename);
  if (error) {
    // Its end is a collective call of the others, too.
    Error e = one_sided::win_unlock_all(*file->window);
    if (!e) e = free_window(*file->window);
    *fh = MPI_FILE_NULL;
    return error;
  }
  if (strict) [[unlikely]]
    open_files().add(*file);
  file->retain();  // the handle's
  *fh = inventory::hand_out(*file);
  return {};
}

namespace {

// Of a call on all ranks of which one has failed: the others close the file all the same.
Error unless_failed(Error error) {
  const int its_class = error ? error.mpi_class() : int{MPI_SUCCESS};
  return its_class == MPIX_ERR_PROC_FAILED || its_class == MPIX_ERR_REVOKED ? Error() : std::move(error);
}

// The first rank, or the first of those of whom this one does not know that they have failed.
bool is_first(const File& file) {
  const Comm& comm = file.comm();
  if (!comm.hidden.harm || !survivor_of(comm)) [[likely]]
    return file.rank() == 0;
  const engine::Engine::Guard own(comm.engine());
  const std::vector<int> failed = survivor_of(comm)->failed(comm);
  for (int rank = 0; rank < file.rank(); ++rank)
    if (!std::ranges::count(failed, comm.process_of(rank))) return false;
  return true;
}

// When no rank has it open: over NFS another name would stay of it.
Error delete_closed(File& file) {
  const bool was_first = is_first(file);
  const auto remove = [&](bool mine) -> Error {
    const int error = mine ? io::remove_posix(file.name) : 0;
    return error && error != ENOENT ? io::failure_of(file.name, "deleting it", error) : Error();
  };
  Error deleted = unless_failed(agree(file.comm(), Function::File_close, remove(was_first)));
  // Who should have done it has failed meanwhile.
  if (!was_first && file.comm().hidden.harm && is_first(file)) return remove(true);
  return deleted;
}

}  // namespace

Error file_close(MPI_File* fh) {
  File& file = *resolve<File>(*fh);
  Error mine;
  if (const int open = file.accesses)
    mine = failure(MPI_ERR_PENDING, "{}: {} of its accesses {} not complete: wait for them first (argument fh)",
                   file.name, open, open == 1 ? "is" : "are");
  else if (const int left = strict ? file.untold.load() : 0; left > 0) [[unlikely]]
    mine = strict->found(
        failure(MPI_ERR_PENDING,
                "{}: {} of its requests {} never completed by this rank: wait for them or test them before "
                "the file is closed (the standard, section 14.2.2; argument fh)",
                file.name, left, left == 1 ? "was" : "were"));
  if (file.split.request)
    mine = failure(MPI_ERR_PENDING, "{}: a split collective has begun and has not ended (argument fh)", file.name);
  await_earlier(file);
  if (mine && file.comm().hidden.harm) return mine;
  if (Error e = unless_failed(agree(file.comm(), Function::File_close, std::move(mine)))) return e;
  if (file.written) [[unlikely]]
    if (Error e = unless_failed(file.written->compare(file, Function::File_close))) return e;
  if (strict) [[unlikely]]
    open_files().drop(file);
  // Whatever fails from here on, the file is closed, and no rank is told that it can try again.
  Error left = file.io->close();
  file.io.reset();
  left = unless_failed(agree(file.comm(), Function::File_close, std::move(left)));
  if (file.amode & MPI_MODE_DELETE_ON_CLOSE) {
    Error deleted = delete_closed(file);
    if (!left) left = std::move(deleted);
  }
  if (Error e = unless_failed(one_sided::win_unlock_all(*file.window))) return e;
  if (Error e = free_window(*file.window)) return e;
  *fh = MPI_FILE_NULL;
  if (left) error_object() = Ref<HasErrhandler>(&file);  // whose error handler hears of it when the handle is gone
  file.free_handle();
  return left;
}

Error file_delete(const char* filename, Info*) {
  filename = path_of(filename);
  if (strict) [[unlikely]]
    if (Error e = strict->found(open_files().refuse_to_delete(filename))) return e;
  const int error = io::remove_posix(filename);
  return error ? io::failure_of(filename, "deleting it", error) : Error();
}

Error no_split(const File& file) {
  if (!file.split.request) return {};
  return failure(MPI_ERR_OTHER, "{}: a split collective has begun: end it before another collective call (argument fh)",
                 file.name);
}

Error tell_failure(Comm& comm, Function function, int first, Error mine) {
  ToldFailure told{};
  if (comm.rank() == first) told.set(mine);
  coll::Call call = bcast_bytes(&told, sizeof told, first);
  call.signature = contract::word_of(function, first);
  if (Error e = run(comm, call)) return e;
  return mine ? std::move(mine) : told.from(first);
}

Error agree(Comm& comm, Function function, Error mine) {
  if (comm.size() == 1) return mine;
  std::vector<int32_t> all;
  if (Error e = exchange(comm, function, static_cast<int32_t>(mine.mpi_class()), all)) return e;
  const auto failed = std::ranges::find_if(all, [](int32_t c) { return c != 0; });
  if (failed == all.end()) return {};
  return tell_failure(comm, function, static_cast<int>(failed - all.begin()), std::move(mine));
}

namespace {

Error change_shared(File& file, int64_t value, MPI_Op op, int64_t& before) {
  Window& window = *file.window;
  before = 0;
  if (Error e =
          one_sided::fetch_and_op(&value, &before, *resolve<Datatype>(MPI_INT64_T), 0, 0, *resolve<Op>(op), window))
    return e;
  return one_sided::win_flush(0, window);
}

}  // namespace

Error advance_shared(File& file, int64_t etypes, int64_t& before) {
  if (file.pointer) return before = file.pointer.add(etypes), Error();
  return change_shared(file, etypes, MPI_SUM, before);
}

Error set_shared(File& file, int64_t etypes) {
  if (file.pointer) return file.pointer.set(etypes), Error();
  int64_t before;
  return change_shared(file, etypes, MPI_REPLACE, before);
}

}  // namespace tutti::mpi::file

namespace tutti::mpi {

File* HandleOf<File>::predefined(uintptr_t) {
  return nullptr;
}

}  // namespace tutti::mpi
