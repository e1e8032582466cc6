// SPDX-License-Identifier: BSD-3-Clause
// Buffers in blocks of the heap that are too short, or were freed, by a call of each chapter, and right ones: of whole
// blocks, of parts of them, and of such whose bytes look like what the allocator writes.
#include <malloc.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "misuse/misuse.hpp"

namespace misuse {
namespace {

struct Freed {
  void operator()(void* block) const { std::free(block); }
};
using Block = std::unique_ptr<int, Freed>;

constexpr int kInts = 100;

// Each is given `count` ints from `at` on.
struct Call {
  Text name;
  std::function<int(int* at, int count)> call;
};

int completed(int code, MPI_Request request) {
  if (code != MPI_SUCCESS) return code;
  OK(MPI_Cancel(&request));
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// The window has as many ints as any case names.
std::vector<Call> calls(MPI_Win win, int* other) {
  return {{"MPI_Irecv",
           [](int* at, int count) {
             MPI_Request request = MPI_REQUEST_NULL;
             const int code = MPI_Irecv(at, count, MPI_INT, 0, 7, self, &request);
             return completed(code, request);
           }},
          {"MPI_Sendrecv",
           [=](int* at, int count) {
             return MPI_Sendrecv(at, count, MPI_INT, 0, 7, other, count, MPI_INT, 0, 7, self, MPI_STATUS_IGNORE);
           }},
          {"MPI_Bcast", [](int* at, int count) { return MPI_Bcast(at, count, MPI_INT, 0, self); }},
          {"MPI_Allgather",
           [=](int* at, int count) { return MPI_Allgather(other, count, MPI_INT, at, count, MPI_INT, self); }},
          {"MPI_Iallreduce",
           [=](int* at, int count) {
             MPI_Request request;
             const int code = MPI_Iallreduce(other, at, count, MPI_INT, MPI_SUM, self, &request);
             return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
           }},
          {"MPI_Put", [=](int* at, int count) {
             const int code = MPI_Put(at, count, MPI_INT, 0, 0, count, MPI_INT, win);
             return code == MPI_SUCCESS ? MPI_Win_flush(0, win) : code;
           }}};
}

Block allocated(size_t bytes) {
  return Block(static_cast<int*>(std::calloc(1, bytes)));
}

void looks_like_chunks(const Block& block) {
  const size_t length = 0x41;
  for (size_t at = 0; at + sizeof length <= kInts * sizeof(int); at += sizeof length)
    std::memcpy(reinterpret_cast<char*>(block.get()) + at, &length, sizeof length);
}

void two_blocks(Judge& judge) {
  const Block one = allocated(kInts * sizeof(int)), other = allocated(kInts * sizeof(int));
  std::array<MPI_Aint, 2> places;
  OK(MPI_Get_address(one.get(), &places[0]));
  OK(MPI_Get_address(other.get(), &places[1]));
  for (const bool is_wrong : {false, true}) {
    const std::array<int, 2> lengths = {kInts, is_wrong ? 2 * kInts : kInts};
    MPI_Datatype both;
    OK(MPI_Type_create_hindexed(2, lengths.data(), places.data(), MPI_INT, &both));
    OK(MPI_Type_commit(&both));
    const int code = MPI_Bcast(MPI_BOTTOM, 1, both, 0, self);
    if (is_wrong)
      judge.wrong("block too short", "MPI_Bcast of two", code, MPI_ERR_BUFFER, "buffer leaves its block of the heap");
    else
      judge.right("blocks long enough", "MPI_Bcast of two", code);
    OK(MPI_Type_free(&both));
  }
}

}  // namespace

void heap(Judge& judge) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  static int other[16 * kInts];
  MPI_Win win;
  int* there;
  OK(MPI_Win_allocate(sizeof other, sizeof(int), MPI_INFO_NULL, self, &there, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock_all(0, win));
  for (const Call& each : calls(win, other)) {
    const Block block = allocated(kInts * sizeof(int));
    looks_like_chunks(block);
    judge.right("blocks long enough", each.name, each.call(block.get(), kInts));
    judge.right("blocks long enough", each.name + " of a part", each.call(block.get() + 4, kInts - 4));
    judge.right("blocks long enough", each.name + " of an odd part", each.call(block.get() + 7, kInts - 7));
    for (const int from : {0, 4, 7})
      judge.wrong("block too short", each.name + " from " + std::to_string(from),
                  each.call(block.get() + from, 10 * kInts), MPI_ERR_BUFFER, "buffer leaves its block of the heap");
    Block gone = allocated(3000);  // longer than what a thread keeps for itself
    const Block behind = allocated(3000);
    int* const at = gone.get();
    gone.reset();
    judge.wrong("block freed", each.name, each.call(at, kInts), MPI_ERR_BUFFER,
                "of the heap");  // which may be in use again, shorter
  }
  two_blocks(judge);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
#else
  (void)&two_blocks, (void)&calls, (void)&looks_like_chunks, (void)judge;
#endif
}

}  // namespace misuse
