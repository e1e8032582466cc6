// SPDX-License-Identifier: BSD-3-Clause
// What faults.sh does to programs with files; argv[1] says which of them, argv[2] names the file.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "file/scratch.hpp"

namespace {

constexpr int kPieces = 4096, kInts = 64;  // 1 MiB of each rank, in pieces of 256 bytes

MPI_File opened_with(const char* path, const char* buffering, int rank, int size) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", buffering));
  OK(MPI_Info_set(info, "romio_cb_read", buffering));
  OK(MPI_Info_set(info, "cb_buffer_size", "65536"));
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  OK(MPI_Info_free(&info));
  MPI_Datatype piece, tile;
  OK(MPI_Type_contiguous(kInts, MPI_INT, &piece));
  OK(MPI_Type_create_resized(piece, 0, 4 * kInts * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 4 * kInts * rank, MPI_INT, tile, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&piece));
  OK(MPI_Type_free(&tile));
  return file;
}

// Each collective form fails on all ranks, with the system's reason, and the file can be used afterwards.
void all_hear(const char* path, int rank, int size, int wanted, const char* reason) {
  std::vector<int> data(static_cast<size_t>(kPieces) * kInts, rank);
  const int n = static_cast<int>(data.size());
  for (const char* buffering : {"enable", "disable"}) {
    MPI_File file = opened_with(path, buffering, rank, size);
    MPI_Request request;
    const std::function<int()> forms[] = {
        [&] { return MPI_File_write_at_all(file, 0, data.data(), n, MPI_INT, MPI_STATUS_IGNORE); },
        [&] {
          OK(MPI_File_iwrite_at_all(file, 0, data.data(), n, MPI_INT, &request));
          return MPI_Wait(&request, MPI_STATUS_IGNORE);
        },
        [&] {
          OK(MPI_File_write_at_all_begin(file, 0, data.data(), n, MPI_INT));
          return MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE);
        },
    };
    for (const auto& form : forms) {
      const int code = form();
      CHECK_EQ(check::error_class(code), wanted);
      CHECK(check::error_text(code).find(reason) != std::string::npos);
      CHECK(check::error_text(code).find(path) != std::string::npos);
    }
    OK(MPI_File_set_size(file, 0));
    if (wanted == MPI_ERR_NO_SPACE) {
      OK(MPI_File_write_at_all(file, 0, data.data(), kInts, MPI_INT, MPI_STATUS_IGNORE));
      FAILS(MPI_File_preallocate(file, MPI_Offset{1} << 30), MPI_ERR_NO_SPACE);
    }
    OK(MPI_File_close(&file));
  }
}

// What was written and read comes over calls that move too little and are interrupted.
void all_is_moved(const char* path, int rank, int size) {
  std::vector<int> data(static_cast<size_t>(kPieces) * kInts), got(data.size());
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(check::mix(rank, static_cast<int>(i), 3));
  const int n = static_cast<int>(data.size());
  for (const char* buffering : {"enable", "disable"}) {
    MPI_File file = opened_with(path, buffering, rank, size);
    OK(MPI_File_write_all(file, data.data(), n, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    for (const bool together : {true, false}) {
      std::fill(got.begin(), got.end(), -1);
      MPI_Status status;
      if (together)
        OK(MPI_File_read_at_all(file, 0, got.data(), n, MPI_INT, &status));
      else
        OK(MPI_File_read_at(file, 0, got.data(), n, MPI_INT, &status));
      check_count(status, MPI_INT, n);
      for (int i = 0; i < n; ++i) CHECK_EQ_IN(got[i], data[i], "element %d", i);
    }
    // The same with gaps in memory, in large pieces in a row of the file, and back.
    MPI_Datatype piece, apart;
    constexpr int each = 700, most = kPieces * kInts / each / 2 * each;
    OK(MPI_Type_contiguous(each, MPI_INT, &piece));
    OK(MPI_Type_create_resized(piece, 0, 8 * each, &apart));
    OK(MPI_Type_commit(&apart));
    OK(MPI_File_set_view(file, MPI_Offset{4} * most * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at(file, 0, data.data(), most / each, apart, MPI_STATUS_IGNORE));
    std::fill(got.begin(), got.end(), -1);
    MPI_Status status;
    OK(MPI_File_read_at(file, 0, got.data(), most / each, apart, &status));
    check_count(status, MPI_INT, most);
    for (int i = 0; i < 2 * most; ++i) CHECK_EQ_IN(got[i], i / each % 2 ? -1 : data[i], "element %d", i);
    OK(MPI_Type_free(&piece));
    OK(MPI_Type_free(&apart));
    OK(MPI_File_close(&file));
  }
}

// No call is in vain because a signal came: those that set sizes, ask for them, synchronise, close and delete.
void is_interrupted(const std::string& path, int rank) {
  for (int round = 0; round < 4; ++round) {
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Offset size = 0;
    OK(MPI_File_set_size(file, 1000 + round));
    OK(MPI_File_get_size(file, &size));
    CHECK_EQ(size, 1000 + round);
    OK(MPI_File_preallocate(file, 2000));
    OK(MPI_File_sync(file));
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    if (rank == 0) OK(MPI_File_delete(path.c_str(), MPI_INFO_NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// What one rank alone hears when it closes the file, or deletes it then, is what the call returns everywhere.
void all_hear_of_the_close(const std::string& path, int rank) {
  for (const int mode : {0, int{MPI_MODE_DELETE_ON_CLOSE}}) {
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR | mode);
    OK(MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    const int code = MPI_File_close(&file);
    CHECK_EQ(check::error_class(code), MPI_ERR_QUOTA);
    CHECK(check::error_text(code).find("closing it: Disk quota exceeded") != std::string::npos);
    CHECK(check::error_text(code).find(path) != std::string::npos);
    CHECK(file == MPI_FILE_NULL);
  }
}

void all_hear_of_the_deletion(const std::string& path) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  const int code = MPI_File_close(&file);
  CHECK_EQ(check::error_class(code), MPI_ERR_IO);
  CHECK(check::error_text(code).find("deleting it") != std::string::npos);
  CHECK(file == MPI_FILE_NULL);
}

void ends_with_the_close(const std::string& path) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL));
  MPI_File_close(&file);
}

void is_read_only(const char* path) {
  MPI_File file;
  FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_READ_ONLY);
  if (check::world_rank == 0)
    FAILS(MPI_File_delete((std::string(path) + ".there").c_str(), MPI_INFO_NULL), MPI_ERR_READ_ONLY);
}

// Rank 1 is killed in the middle of collective writes in atomic mode.
void is_killed(const char* path, int rank, int size) {
  std::vector<int> data(static_cast<size_t>(kPieces) * kInts, rank);
  MPI_File file = opened_with(path, "enable", rank, size);
  OK(MPI_File_set_atomicity(file, 1));
  for (int round = 0;; ++round) {
    if (rank == 1 && round == 20) raise(SIGKILL);
    OK(MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(data.size()), MPI_INT, MPI_STATUS_IGNORE));
  }
}

// An aggregator dies in the middle of collective accesses in two phases, of which others have more than one under way:
// in a call of the system for the file (calls.c).
void loses_an_aggregator(const char* path, const std::string& form, int rank, int size) {
  std::vector<int> data(static_cast<size_t>(kPieces) * kInts, rank), other(data.size(), rank);
  const int n = static_cast<int>(data.size());
  MPI_File file = opened_with(path, "enable", rank, size);
  MPI_Request requests[2];
  for (;;) {
    if (form == "write") {
      OK(MPI_File_write_at_all(file, 0, data.data(), n, MPI_INT, MPI_STATUS_IGNORE));
    } else if (form == "read") {
      OK(MPI_File_read_at_all(file, 0, data.data(), n, MPI_INT, MPI_STATUS_IGNORE));
    } else if (form == "split") {
      OK(MPI_File_write_at_all_begin(file, 0, data.data(), n, MPI_INT));
      OK(MPI_File_write_at_all_end(file, data.data(), MPI_STATUS_IGNORE));
    } else {
      const auto start = [&](void* buffer, MPI_Request* request) {
        return form == "iwrite" ? MPI_File_iwrite_at_all(file, 0, buffer, n, MPI_INT, request)
                                : MPI_File_iread_at_all(file, 0, buffer, n, MPI_INT, request);
      };
      OK(start(data.data(), &requests[0]));
      OK(start(other.data(), &requests[1]));
      OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
  }
}

// Goes through where no lock was left.
void writes_atomically(const char* path, int rank, int size) {
  std::vector<int> data(static_cast<size_t>(kPieces) * kInts, rank);
  MPI_File file = opened_with(path, "disable", rank, size);
  OK(MPI_File_set_atomicity(file, 1));
  OK(MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(data.size()), MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
}

// Another open of the file, which no MPI knows of, has a lock until there is a file of that name with .go behind it.
void waits_for_lock(const char* path, int rank) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_atomicity(file, 1));
  const std::string go = std::string(path) + ".go";
  int fd = -1;
  if (rank == 0) {
    fd = ::open(path, O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    CHECK(fd >= 0 && ::fcntl(fd, F_OFD_SETLK, &lock) == 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    while (::access(go.c_str(), F_OK) != 0) ::usleep(10000);
    ::close(fd);
  } else {
    OK(MPI_File_write_at(file, 128 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  }
  OK(MPI_File_close(&file));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  CHECK(argc == 3);
  const std::string what = argv[1];
  // clang-format off
  if (what == "full") all_hear(argv[2], rank, size, MPI_ERR_NO_SPACE, "No space left");
  else if (what == "broken") all_hear(argv[2], rank, size, MPI_ERR_IO, "Input/output error");
  else if (what == "short") all_is_moved(argv[2], rank, size);
  else if (what == "interrupted") is_interrupted(argv[2], rank);
  else if (what == "closing") all_hear_of_the_close(argv[2], rank);
  else if (what == "closing.fatal") ends_with_the_close(argv[2]);
  else if (what == "deleting") all_hear_of_the_deletion(argv[2]);
  else if (what == "readonly") is_read_only(argv[2]);
  else if (what == "killed") is_killed(argv[2], rank, size);
  else if (what.starts_with("aggregator.")) loses_an_aggregator(argv[2], what.substr(11), rank, size);
  else if (what == "atomic") writes_atomically(argv[2], rank, size);
  else if (what == "locked") waits_for_lock(argv[2], rank);
  else CHECK(!"no such fault");
  // clang-format on
}
