// SPDX-License-Identifier: BSD-3-Clause
// A view is a description (MPI 5.0, section 14.3): one of a thousand million pieces takes no more memory than one of two,
// and what lies in its middle is found as fast; alone and in two phases, and with what MPI_File_get_byte_offset says.
#include <fstream>

#include "file/scratch.hpp"

namespace {

constexpr int kPieces = 1'000'000'000, kInts = 600;

long resident_kib() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

int value(int rank, int i) {
  return static_cast<int>(check::mix(rank, i, 11));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", "enable"));
  OK(MPI_Info_set(info, "romio_cb_read", "enable"));
  MPI_File file = opened(scratch.file("large"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  OK(MPI_Info_free(&info));
  std::vector<int> data(kInts), got(kInts);
  for (int i = 0; i < kInts; ++i) data[i] = value(rank, i);
  OK(MPI_File_write_at_all(file, kInts * 4 * rank, data.data(), kInts, MPI_INT,
                           MPI_STATUS_IGNORE));  // what comes with the first call
  const long before = resident_kib();

  // A piece of two integers in turn for each rank.
  MPI_Datatype pieces;
  OK(MPI_Type_create_hvector(kPieces, 2, static_cast<MPI_Aint>(8) * size, MPI_INT, &pieces));
  OK(MPI_Type_commit(&pieces));
  OK(MPI_File_set_view(file, 8 * rank, MPI_INT, pieces, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&pieces));
  const MPI_Offset middle = MPI_Offset{kPieces} / 2 * 2 + 1;  // the second integer of a piece
  MPI_Offset place = -1;
  OK(MPI_File_get_byte_offset(file, middle, &place));
  CHECK_EQ(place, 8 * rank + MPI_Offset{kPieces} / 2 * 8 * size + 4);
  OK(MPI_File_write_at_all(file, middle, data.data(), kInts, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Request request;
  OK(MPI_File_iwrite_at_all(file, middle + kInts, data.data(), kInts, MPI_INT, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));
  for (int turn = 0; turn < 4; ++turn) {
    std::fill(got.begin(), got.end(), -1);
    MPI_Status status;
    const MPI_Offset at = middle + kInts * (turn / 2);
    if (turn % 2)
      OK(MPI_File_read_at(file, at, got.data(), kInts, MPI_INT, &status));
    else
      OK(MPI_File_read_at_all(file, at, got.data(), kInts, MPI_INT, &status));
    check_count(status, MPI_INT, kInts);
    for (int i = 0; i < kInts; ++i) CHECK_EQ_IN(got[i], value(rank, i), "turn %d, element %d", turn, i);
  }
  OK(MPI_File_seek(file, 0, MPI_SEEK_END));
  OK(MPI_File_get_position(file, &place));
  CHECK(place >= middle + 2 * kInts - 1 && place <= middle + 2 * kInts + 1);
  const long grown = resident_kib() - before;
  if (grown > 32 * 1024) check::fail(__FILE__, __LINE__, "the view takes " + std::to_string(grown) + " KiB of memory");
  OK(MPI_File_close(&file));
}
