// SPDX-License-Identifier: BSD-3-Clause
// Files that are closed or deleted too early, or opened by ranks in different ways.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "file/scratch.hpp"
#include "misuse/misuse.hpp"

namespace misuse {
namespace {

using Start = std::function<int(MPI_File, int, MPI_Request*)>;
using Starts = std::vector<std::pair<Text, Start>>;

Starts starts() {
  return {
      {"MPI_File_iwrite_at",
       [](MPI_File f, int n, MPI_Request* r) { return MPI_File_iwrite_at(f, 0, out, n, MPI_INT, r); }},
      {"MPI_File_iread_at",
       [](MPI_File f, int n, MPI_Request* r) { return MPI_File_iread_at(f, 0, in, n, MPI_INT, r); }},
      {"MPI_File_iwrite", [](MPI_File f, int n, MPI_Request* r) { return MPI_File_iwrite(f, out, n, MPI_INT, r); }},
      {"MPI_File_iread_shared",
       [](MPI_File f, int n, MPI_Request* r) { return MPI_File_iread_shared(f, in, n, MPI_INT, r); }},
      {"MPI_File_iwrite_all",
       [](MPI_File f, int n, MPI_Request* r) { return MPI_File_iwrite_all(f, out, n, MPI_INT, r); }},
  };
}

// A lock of another open of the file keeps an atomic access waiting for as long as it shall.
void closed_with_active_requests(Judge& judge, const Text& path) {
  for (const auto& [name, start] : starts()) {
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, self);
    OK(MPI_File_set_atomicity(file, 1));
    const int other = ::open(path.c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    CHECK(other >= 0 && ::fcntl(other, F_OFD_SETLK, &lock) == 0);
    MPI_Request request;
    OK(start(file, 1, &request));
    judge.wrong("file closed, request active", name, MPI_File_close(&file), MPI_ERR_PENDING, "not complete");
    ::close(other);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    judge.right("file closed, request completed", name, MPI_File_close(&file));
  }
}

void closed_with_split_collectives(Judge& judge, const Text& path) {
  using End = std::function<int(MPI_File)>;
  const std::vector<std::pair<Text, std::pair<End, End>>> forms{
      {"MPI_File_write_all_begin",
       {[](MPI_File f) { return MPI_File_write_all_begin(f, out, 1, MPI_INT); },
        [](MPI_File f) { return MPI_File_write_all_end(f, out, MPI_STATUS_IGNORE); }}},
      {"MPI_File_read_at_all_begin",
       {[](MPI_File f) { return MPI_File_read_at_all_begin(f, 0, in, 1, MPI_INT); },
        [](MPI_File f) { return MPI_File_read_at_all_end(f, in, MPI_STATUS_IGNORE); }}},
      {"MPI_File_write_ordered_begin",
       {[](MPI_File f) { return MPI_File_write_ordered_begin(f, out, 1, MPI_INT); },
        [](MPI_File f) { return MPI_File_write_ordered_end(f, out, MPI_STATUS_IGNORE); }}},
  };
  for (const auto& [name, form] : forms) {
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
    OK(form.first(file));
    judge.wrong("file closed, split collective begun", name, MPI_File_close(&file), MPI_ERR_PENDING, "has not ended");
    OK(form.second(file));
    judge.right("file closed, split collective ended", name, MPI_File_close(&file));
  }
}

// What has no data is complete at once; whether the program has heard of it is another thing.
void closed_with_requests_left(Judge& judge, const Text& path, int rank, int size) {
  for (const auto& [name, start] : starts()) {
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, self);
    MPI_Request requests[2];
    OK(start(file, 0, &requests[0]));
    OK(start(file, 0, &requests[1]));
    judge.wrong("file closed, requests left", name, MPI_File_close(&file), MPI_ERR_PENDING,
                "2 of its requests were never completed");
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    judge.wrong("file closed, request left", name, MPI_File_close(&file), MPI_ERR_PENDING,
                "1 of its requests was never completed");
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    judge.right("file closed, requests completed", name, MPI_File_close(&file));
  }
  using Completion = std::function<int(MPI_Request*)>;
  // clang-format off
  const std::vector<std::pair<Text, Completion>> completions{
      {"MPI_Test", [](MPI_Request* r) { int f; return MPI_Test(r, &f, MPI_STATUS_IGNORE); }},
      {"MPI_Waitall", [](MPI_Request* r) { return MPI_Waitall(1, r, MPI_STATUSES_IGNORE); }},
      {"MPI_Waitany", [](MPI_Request* r) { int i; return MPI_Waitany(1, r, &i, MPI_STATUS_IGNORE); }},
      {"MPI_Testsome", [](MPI_Request* r) { int n, i; return MPI_Testsome(1, r, &n, &i, MPI_STATUSES_IGNORE); }},
      {"MPI_Request_free", [](MPI_Request* r) { return MPI_Request_free(r); }},
      {"MPI_Request_get_status", [](MPI_Request* r) { int f; return MPI_Request_get_status(*r, &f, MPI_STATUS_IGNORE); }},
  };
  // clang-format on
  for (const auto& [name, complete] : completions) {
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, self);
    MPI_Request request;
    OK(MPI_File_iwrite_at(file, 0, out, 0, MPI_INT, &request));
    OK(complete(&request));
    judge.right("file closed, requests completed", name, MPI_File_close(&file));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  // One rank has left one: all hear of it, and the file stays open.
  MPI_File file = opened(path + ".all", MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == size - 1) OK(MPI_File_iwrite_at(file, 0, out, 0, MPI_INT, &request));
  judge.wrong("file closed, request left", "MPI_File_close", MPI_File_close(&file), MPI_ERR_PENDING,
              "never completed by this rank");
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  judge.right("file closed, requests completed", "MPI_File_close", MPI_File_close(&file));
}

void deleted_while_open(Judge& judge, const Text& path, bool strict) {
  const auto removed = [&] { return MPI_File_delete(path.c_str(), MPI_INFO_NULL); };
  const Text link = path + ".link", another = path + ".another";
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, self), second = opened(path, MPI_MODE_RDONLY, self);
  if (strict)
    judge.wrong("file deleted while open", "MPI_File_delete", removed(), MPI_ERR_FILE_IN_USE, "has the file open");
  // What has nothing to do with it: another file, a link, another name.
  MPI_File other = opened(another, MPI_MODE_CREATE | MPI_MODE_WRONLY, self);
  OK(MPI_File_close(&other));
  judge.right("another file deleted", "MPI_File_delete", MPI_File_delete(another.c_str(), MPI_INFO_NULL));
  CHECK(::symlink(path.c_str(), link.c_str()) == 0);
  judge.right("a link deleted", "MPI_File_delete", MPI_File_delete(link.c_str(), MPI_INFO_NULL));
  CHECK(::link(path.c_str(), link.c_str()) == 0);
  judge.right("a link deleted", "MPI_File_delete", MPI_File_delete(link.c_str(), MPI_INFO_NULL));
  OK(MPI_File_close(&second));
  if (strict)
    judge.wrong("file deleted while open", "MPI_File_delete", removed(), MPI_ERR_FILE_IN_USE, "has the file open");
  OK(MPI_File_close(&file));
  judge.right("file deleted when closed", "MPI_File_delete", removed());
  file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, self);
  judge.right("file deleted when closed", "MPI_File_close", MPI_File_close(&file));
  CHECK(::access(path.c_str(), F_OK) != 0);
}

// By another process than the one that has it open: rank 0 has, and each other one in turn deletes.
void deleted_while_open_elsewhere(Judge& judge, const Text& path, int rank, int size) {
  const int modes[] = {MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_MODE_RDONLY, MPI_MODE_WRONLY};
  const Text link = path + ".link";
  const auto deleted = [](const Text& name) { return MPI_File_delete(name.c_str(), MPI_INFO_NULL); };
  for (int turn = 1; turn < size; ++turn)
    for (const int mode : modes) {
      MPI_File file = MPI_FILE_NULL, second = MPI_FILE_NULL;
      if (rank == 0) {
        file = opened(path, mode, self);
        second = opened(path, mode, self);
      }
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (rank == turn) {
        judge.wrong("file deleted while open elsewhere", "MPI_File_delete", deleted(path), MPI_ERR_FILE_IN_USE,
                    "is rank 0 of its job, has the file open");
        CHECK(::symlink(path.c_str(), link.c_str()) == 0);
        judge.right("a link deleted", "MPI_File_delete", deleted(link));
        CHECK(::link(path.c_str(), link.c_str()) == 0);
        judge.right("a link deleted", "MPI_File_delete", deleted(link));
      }
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (rank == 0) OK(MPI_File_close(&file));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (rank == turn)
        judge.wrong("file deleted while open elsewhere", "MPI_File_delete", deleted(path), MPI_ERR_FILE_IN_USE,
                    "has the file open");
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (rank == 0) OK(MPI_File_close(&second));
    }
}

// What others may do with a file that nobody has open any more, as far as MPI knows.
void deleted_when_closed_elsewhere(Judge& judge, const Text& path, int rank, int size) {
  const auto deleted = [&] { return MPI_File_delete(path.c_str(), MPI_INFO_NULL); };
  const int modes[] = {MPI_MODE_RDWR, MPI_MODE_WRONLY};
  for (int turn = 0; turn < 4 * size; ++turn) {
    // Whoever leaves the collective close first.
    MPI_File file = opened(path, MPI_MODE_CREATE | modes[turn % 2]);
    OK(MPI_File_close(&file));
    if (rank == turn % size) judge.right("file deleted behind its close", "MPI_File_close", deleted());
    OK(MPI_Barrier(MPI_COMM_WORLD));
    // A child that knows nothing of the file keeps what it has inherited.
    pid_t child = -1;
    if (rank == 0) {
      file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, self);
      if (turn == 0) child = ::fork();
      if (child == 0) {
        ::pause();
        ::_exit(0);
      }
      OK(MPI_File_close(&file));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == size - 1) judge.right("file deleted when closed elsewhere", "MPI_File_delete", deleted());
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (child > 0) {
      CHECK(::kill(child, SIGKILL) == 0);
      CHECK(::waitpid(child, nullptr, 0) == child);
    }
  }
  // Locks of other kinds, by whoever likes.
  for (const short type : {F_RDLCK, F_WRLCK}) {
    int fd = -1;
    if (rank == 0) {
      fd = ::open(path.c_str(), O_CREAT | O_RDWR, 0600);
      struct flock all{};
      all.l_type = type;
      all.l_whence = SEEK_SET;
      CHECK(fd >= 0 && ::fcntl(fd, F_OFD_SETLK, &all) == 0 && ::flock(fd, type == F_RDLCK ? LOCK_SH : LOCK_EX) == 0);
      MPI_File file = opened(path, MPI_MODE_RDWR, self);
      OK(MPI_File_close(&file));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == size - 1) judge.right("a locked file deleted", "MPI_File_delete", deleted());
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (fd >= 0) ::close(fd);
  }
}

// The last rank names another file than the others, or the same one in another way.
void opened_by_other_names(Judge& judge, Scratch& scratch, int rank, int size) {
  const Text path = scratch.file("named"), other = scratch.file("named.other"),
             symbolic = scratch.file("named.symbolic"), hard = scratch.file("named.hard"),
             folder = path.substr(0, path.rfind('/')), base = path.substr(folder.size() + 1);
  const bool odd = rank == size - 1;
  const int modes[] = {MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_MODE_RDONLY, MPI_MODE_WRONLY | MPI_MODE_APPEND};
  for (const int mode : modes) {
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, (odd ? other : path).c_str(), mode, MPI_INFO_NULL, &file);
    if (size > 1)
      judge.wrong("other files", "MPI_File_open", code, MPI_ERR_NOT_SAME, "are two files");
    else
      OK(MPI_File_close(&file));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    std::ofstream(path, std::ios::app).flush();  // alone there is none yet
    CHECK(::symlink(base.c_str(), symbolic.c_str()) == 0 && ::link(path.c_str(), hard.c_str()) == 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  char before[4096];
  CHECK(::getcwd(before, sizeof before) != nullptr);
  for (const int mode : modes)
    for (const Text& name :
         {path, folder + "/./" + base, folder + "/../" + folder.substr(folder.rfind('/') + 1) + "//" + base, symbolic,
          hard, base}) {
      MPI_File file = MPI_FILE_NULL;
      if (odd && name == base) CHECK(::chdir(folder.c_str()) == 0);
      judge.right("one file by two names", name.c_str(),
                  MPI_File_open(MPI_COMM_WORLD, (odd ? name : path).c_str(), mode, MPI_INFO_NULL, &file));
      OK(MPI_File_close(&file));
      CHECK(::chdir(before) == 0);
    }
  // What is no regular file is not compared.
  MPI_File file = MPI_FILE_NULL;
  judge.right("a device and another", "MPI_File_open",
              MPI_File_open(MPI_COMM_WORLD, odd ? "/dev/zero" : "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_close(&file));
}

void opened_in_different_ways(Judge& judge, const Text& path, int rank, int size) {
  const int create = MPI_MODE_CREATE,
            odd[] = {MPI_MODE_RDWR, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN};
  for (const int mode : odd) {
    MPI_File file = MPI_FILE_NULL;
    const int mine = create | (rank == size - 1 ? mode : MPI_MODE_WRONLY);
    const int code = MPI_File_open(MPI_COMM_WORLD, path.c_str(), mine, MPI_INFO_NULL, &file);
    if (size > 1)
      judge.wrong("other access modes", "MPI_File_open", code, MPI_ERR_NOT_SAME,
                  "with the access mode MPI_MODE_CREATE | MPI_MODE_WRONLY, rank");
    else
      OK(MPI_File_close(&file));
    judge.right("one access mode", "MPI_File_open",
                MPI_File_open(MPI_COMM_WORLD, path.c_str(), create | mode, MPI_INFO_NULL, &file));
    judge.right("one access mode", "MPI_File_close", MPI_File_close(&file));
  }
}

}  // namespace

void files(Judge& judge, bool strict, int rank, int size) {
  Scratch scratch;
  std::vector<Text> own;
  for (int r = 0; r < size; ++r) own.push_back(scratch.file("of-" + std::to_string(r)));
  const Text all = scratch.file("all"), left = scratch.file("left");
  scratch.file("left.all");
  closed_with_active_requests(judge, own[rank]);
  closed_with_split_collectives(judge, all);
  if (strict) closed_with_requests_left(judge, left, rank, size);
  deleted_while_open(judge, own[rank], strict);
  if (strict) deleted_while_open_elsewhere(judge, all, rank, size);
  deleted_when_closed_elsewhere(judge, all, rank, size);
  opened_by_other_names(judge, scratch, rank, size);
  opened_in_different_ways(judge, all, rank, size);
}

}  // namespace misuse
