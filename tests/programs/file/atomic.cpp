// SPDX-License-Identifier: BSD-3-Clause
// Atomic mode (MPI 5.0, section 14.6.1): all ranks write the same pieces of a file over and over, each with its own
// value, through views with gaps; whoever reads sees one rank's write or another's, never a mixture. Also of
// several opens of one file, and gaps that are written side by side by opens which know nothing of each other.
#include "file/scratch.hpp"

namespace {

constexpr int kPieces = 50;

void check_whole(MPI_File file, int rank, const char* what) {
  MPI_Datatype tile;
  OK(MPI_Type_create_resized(MPI_INT, 0, 64, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
  OK(MPI_File_set_atomicity(file, 1));
  std::vector<int> out(kPieces), in(kPieces);
  for (int round = 0; round < 60; ++round) {
    std::fill(out.begin(), out.end(), rank * 1000 + round);
    OK(MPI_File_write_at(file, 0, out.data(), kPieces, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, 0, in.data(), kPieces, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 1; i < kPieces; ++i) CHECK_EQ_IN(in[i], in[0], "%s, round %d, element %d", what, round, i);
  }
  OK(MPI_Type_free(&tile));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  {
    MPI_File file = opened(scratch.file("together"), MPI_MODE_CREATE | MPI_MODE_RDWR);
    check_whole(file, rank, "one open");
    OK(MPI_File_close(&file));
  }
  {
    const std::string path = scratch.file("apart");
    MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_SELF);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    check_whole(file, rank, "an open each");
    OK(MPI_File_close(&file));
  }
  // Not atomic, and no locks: nothing of the neighbours' is written back.
  const std::string path = scratch.file("gaps");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_SELF);
  MPI_Datatype tile;
  OK(MPI_Type_create_resized(MPI_SHORT, 0, 2 * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 2 * rank, MPI_SHORT, tile, "native", MPI_INFO_NULL));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int round = 0; round < 200; ++round) {
    const std::vector<short> mine(20, static_cast<short>(1 + rank + 10 * round));
    OK(MPI_File_write_at(file, 20 * (round % 5), mine.data(), 20, MPI_SHORT, MPI_STATUS_IGNORE));
  }
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&tile));
  std::vector<unsigned char> wanted;
  for (int i = 0; i < 100; ++i)
    for (int r = 0; r < size; ++r) {
      const short value = static_cast<short>(1 + r + 10 * (195 + i / 20));
      wanted.push_back(static_cast<unsigned char>(value & 0xff));
      wanted.push_back(static_cast<unsigned char>(value >> 8));
    }
  check_contents(path, wanted, "gaps");
}
