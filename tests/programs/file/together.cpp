// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking and split collective access where the ranks' pieces lie between each other's (MPI 5.0, sections 14.4.2
// to 14.4.5): all forms, with and without two phases, several at once and among blocking collective calls on the
// file; a rank that cannot take part; and that they come to their end while no rank calls MPI.
#include <fcntl.h>

#include "file/scratch.hpp"

namespace {

constexpr int kPieces = 700, kInts = 3;  // of each rank's part of an access

int value(int rank, int access, int i) {
  return static_cast<int>(check::mix(rank, access, i));
}

std::vector<int> data_of(int rank, int access) {
  std::vector<int> data(kPieces * kInts);
  for (size_t i = 0; i < data.size(); ++i) data[i] = value(rank, access, static_cast<int>(i));
  return data;
}

MPI_Info buffering(const char* how, const char* buffer) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", how));
  OK(MPI_Info_set(info, "romio_cb_read", how));
  OK(MPI_Info_set(info, "cb_buffer_size", buffer));
  return info;
}

// Ranks take turns of kInts integers.
void set_turns(MPI_File file, int rank, int size) {
  MPI_Datatype turn, tile;
  OK(MPI_Type_contiguous(kInts, MPI_INT, &turn));
  OK(MPI_Type_create_resized(turn, 0, static_cast<MPI_Aint>(sizeof(int)) * kInts * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, static_cast<MPI_Offset>(sizeof(int)) * kInts * rank, MPI_INT, tile, "native",
                       MPI_INFO_NULL));
  OK(MPI_Type_free(&turn));
  OK(MPI_Type_free(&tile));
}

std::vector<unsigned char> file_of(int size, int accesses) {
  std::vector<int> all;
  for (int access = 0; access < accesses; ++access)
    for (int piece = 0; piece < kPieces; ++piece)
      for (int r = 0; r < size; ++r)
        for (int i = 0; i < kInts; ++i) all.push_back(value(r, access, piece * kInts + i));
  const auto* bytes = reinterpret_cast<const unsigned char*>(all.data());
  return {bytes, bytes + all.size() * sizeof(int)};
}

void check_forms(Scratch& scratch, int rank, int size, const char* how, const char* buffer) {
  const std::string path = scratch.file(std::string("forms-") + how + buffer);
  MPI_Info info = buffering(how, buffer);
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  OK(MPI_Info_free(&info));
  set_turns(file, rank, size);
  constexpr int kAccesses = 6, kEach = kPieces * kInts;
  std::vector<std::vector<int>> out, in(kAccesses, std::vector<int>(kEach, -1));
  for (int access = 0; access < kAccesses; ++access) out.push_back(data_of(rank, access));
  const auto at = [](int access) { return static_cast<MPI_Offset>(access) * kEach; };
  MPI_Status status, statuses[3];
  MPI_Request requests[3];
  // Three at once by two pointers, a blocking one while they are under way, a split one, and one more; that of other
  // communicators in between.
  OK(MPI_File_iwrite_all(file, out[0].data(), kEach, MPI_INT, &requests[0]));
  OK(MPI_File_iwrite_all(file, out[1].data(), kEach, MPI_INT, &requests[1]));
  OK(MPI_File_iwrite_at_all(file, at(3), out[3].data(), kEach, MPI_INT, &requests[2]));
  OK(MPI_File_write_at_all(file, at(2), out[2].data(), kEach, MPI_INT, &status));
  check_count(status, MPI_INT, kEach);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Waitall(3, requests, statuses));
  for (const MPI_Status& s : statuses) check_count(s, MPI_INT, kEach);
  OK(MPI_File_write_at_all_begin(file, at(4), out[4].data(), kEach, MPI_INT));
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_File_write_at_all_end(file, out[4].data(), &status));
  check_count(status, MPI_INT, kEach);
  OK(MPI_File_seek(file, at(5), MPI_SEEK_SET));
  OK(MPI_File_write_all_begin(file, out[5].data(), kEach, MPI_INT));
  OK(MPI_File_write_all_end(file, out[5].data(), &status));
  check_count(status, MPI_INT, kEach);
  OK(MPI_File_sync(file));
  check_contents(path, file_of(size, kAccesses), how);

  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  OK(MPI_File_iread_all(file, in[0].data(), kEach, MPI_INT, &requests[0]));
  OK(MPI_File_iread_all(file, in[1].data(), kEach, MPI_INT, &requests[1]));
  OK(MPI_File_iread_at_all(file, at(3), in[3].data(), kEach, MPI_INT, &requests[2]));
  OK(MPI_File_read_at_all(file, at(2), in[2].data(), kEach, MPI_INT, &status));
  check_count(status, MPI_INT, kEach);
  OK(MPI_Waitall(3, requests, statuses));
  for (const MPI_Status& s : statuses) check_count(s, MPI_INT, kEach);
  OK(MPI_File_read_at_all_begin(file, at(4), in[4].data(), kEach, MPI_INT));
  OK(MPI_File_read_at_all_end(file, in[4].data(), &status));
  check_count(status, MPI_INT, kEach);
  // The file ends in the middle of the last one.
  OK(MPI_File_seek(file, at(5) + kEach / 2 / kInts * kInts, MPI_SEEK_SET));
  OK(MPI_File_read_all_begin(file, in[5].data(), kEach, MPI_INT));
  OK(MPI_File_read_all_end(file, in[5].data(), &status));
  const int there = kEach - kEach / 2 / kInts * kInts;
  check_count(status, MPI_INT, there);
  for (int access = 0; access < 5; ++access)
    for (int i = 0; i < kEach; ++i)
      CHECK_EQ_IN(in[access][i], value(rank, access, i), "%s, access %d, element %d", how, access, i);
  for (int i = 0; i < kEach; ++i)
    CHECK_EQ_IN(in[5][i], i < there ? value(rank, 5, kEach - there + i) : -1, "%s, element %d", how, i);
  OK(MPI_File_close(&file));
}

// Memory with gaps, and ranks that have nothing.
void check_gaps(Scratch& scratch, int rank, int size) {
  const std::string path = scratch.file("gaps");
  MPI_Info info = buffering("enable", "4096");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  OK(MPI_Info_free(&info));
  set_turns(file, rank, size);
  MPI_Datatype every_other;
  OK(MPI_Type_vector(kPieces * kInts, 1, 2, MPI_INT, &every_other));
  OK(MPI_Type_commit(&every_other));
  const std::vector<int> data = data_of(rank, 0);
  std::vector<int> spread(2 * data.size(), -7);
  for (size_t i = 0; i < data.size(); ++i) spread[2 * i] = data[i];
  MPI_Request request;
  OK(MPI_File_iwrite_all(file, spread.data(), 1, every_other, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  std::fill(spread.begin(), spread.end(), -7);
  OK(MPI_File_iread_at_all(file, 0, spread.data(), rank % 2 ? 0 : 1, every_other, &request));
  MPI_Status status;
  OK(MPI_Wait(&request, &status));
  check_count(status, every_other, rank % 2 ? 0 : 1);
  for (size_t i = 0; i < spread.size(); ++i)
    CHECK_EQ_IN(spread[i], rank % 2 || i % 2 ? -7 : data[i / 2], "element %zu", i);
  OK(MPI_Type_free(&every_other));
  OK(MPI_File_close(&file));
}

// What one rank's arguments forbid, the others hear when they wait; afterwards the file is as good as before.
void check_failing(Scratch& scratch, int rank, int size) {
  MPI_File file = opened(scratch.file("failing"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  int number = rank;
  MPI_Request request = MPI_REQUEST_NULL;
  const bool last = rank == size - 1;
  const int code = MPI_File_iwrite_at_all(file, last ? -1 : rank * 4, &number, 4, MPI_BYTE, &request);
  if (last) {
    CHECK_EQ(check::error_class(code), MPI_ERR_ARG);
  } else {
    OK(code);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  }
  OK(MPI_File_iwrite_at_all(file, rank * 4, &number, 4, MPI_BYTE, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
}

#ifndef OTHER_MPI
// No rank calls MPI until the file holds what is to be written: the exchanges and the writing go on without them.
void check_progress(Scratch& scratch, int rank, int size) {
  const std::string path = scratch.file("progress");
  MPI_Info info = buffering("enable", "4096");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_WORLD, info);
  OK(MPI_Info_free(&info));
  set_turns(file, rank, size);
  const std::vector<int> data = data_of(rank, 0);
  const std::vector<unsigned char> wanted = file_of(size, 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request request;
  OK(MPI_File_iwrite_all(file, data.data(), kPieces * kInts, MPI_INT, &request));
  const auto began = std::chrono::steady_clock::now();
  while (contents(path) != wanted) CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(40));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
}
#endif

// Pieces of about the sizes from which on ranks move their own, which are others for reads and for writes: all is moved,
// also where started accesses are mixed with blocking ones.
void check_ways(Scratch& scratch, int rank, int size) {
  constexpr int pieces = 3;
  for (const int bytes : {16 << 10, 40 << 10, 128 << 10}) {
    MPI_File file = opened(scratch.file("ways-" + std::to_string(bytes)), MPI_MODE_CREATE | MPI_MODE_RDWR);
    const int ints = bytes / 4, n = pieces * ints;
    MPI_Datatype piece, turns;
    OK(MPI_Type_contiguous(ints, MPI_INT, &piece));
    OK(MPI_Type_create_resized(piece, 0, MPI_Aint{bytes} * size, &turns));
    OK(MPI_Type_commit(&turns));
    OK(MPI_File_set_view(file, MPI_Offset{bytes} * rank, MPI_INT, turns, "native", MPI_INFO_NULL));
    std::vector<int> out(static_cast<size_t>(n)), in(out.size());
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < n; ++i) out[i] = static_cast<int>(check::mix(rank, i, round));
      std::fill(in.begin(), in.end(), -1);
      MPI_Request request;
      MPI_Status status;
      if (round % 5 == 4) {
        OK(MPI_File_iwrite_at_all(file, 0, out.data(), n, MPI_INT, &request));
        OK(MPI_Wait(&request, &status));
      } else {
        OK(MPI_File_write_at_all(file, 0, out.data(), n, MPI_INT, &status));
      }
      check_count(status, MPI_INT, n);
      OK(MPI_File_sync(file));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      OK(MPI_File_sync(file));
      OK(MPI_File_read_at_all(file, 0, in.data(), n, MPI_INT, &status));
      check_count(status, MPI_INT, n);
      for (int i = 0; i < n; ++i)
        CHECK_EQ_IN(in[i], out[i], "pieces of %d bytes, round %d, element %d", bytes, round, i);
    }
    OK(MPI_Type_free(&piece));
    OK(MPI_Type_free(&turns));
    OK(MPI_File_close(&file));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size();
  Scratch scratch;
  check_forms(scratch, rank, size, "enable", "4096");
  check_forms(scratch, rank, size, "enable", "4194304");
  check_forms(scratch, rank, size, "disable", "4096");
  check_forms(scratch, rank, size, "automatic", "8192");
  check_gaps(scratch, rank, size);
  check_ways(scratch, rank, size);
#ifndef OTHER_MPI
  check_failing(scratch, rank, size);
  check_progress(scratch, rank, size);
#endif
}
