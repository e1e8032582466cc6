// SPDX-License-Identifier: BSD-3-Clause
// An access to a file, from the arguments of a call to the bytes: where it lies, what converts it,
// who waits for it.
#pragma once

#include "base/function.hpp"
#include "io/file_bytes.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/file/file.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi::file {

// Where the data lie: at an offset that is given, at this rank's pointer, at the shared one, or
// behind those of the lower ranks at the shared one.
enum class Where : uint8_t { at, individual, shared, ordered };

struct How {
  Function function;  // the program's call, without _c
  bool writes;
  Where where;
  bool collective;
};

struct Given {
  MPI_Offset offset;  // in etypes; of Where::at alone
  void* buffer;       // of a write it is only read
  int64_t count;
  Datatype* type;
};

Error access(File& file, const How& how, const Given& given, MPI_Status* status);
Error start_access(File& file, const How& how, const Given& given, MPI_Request* request);
Error begin_split(File& file, const How& how, const Given& given);
Error end_split(File& file, Function began, const void* buffer, MPI_Status* status);

// An access whose place is known. Whoever performs it holds what it refers to, but the buffer.
struct PlacedAccess {
  Ref<File> file;
  std::shared_ptr<const FileView> view;
  int64_t position = 0;  // of the view, in bytes
  void* buffer = nullptr;
  int64_t count = 0;
  Ref<Datatype> type;
  int64_t each_in_file = 0;  // bytes of an element there
  bool writes = false, atomic = false;

  int64_t bytes() const { return count * each_in_file; }
  Payload memory() const { return type->payload(buffer, count); }
  bool converts() const;
};

// What `outcome.bytes` counts is memory.
io::Transferred perform(const PlacedAccess& job);

// --- the parts of an access

// Whether 64 bits count where `bytes` of a view end that begin at an etype.
Error check_place(const File& file, const FileView& view, int64_t etype, int64_t bytes);

// All but the place. `etypes`: how far a pointer moves.
Error prepare(File& file, const How& how, const Given& given, PlacedAccess& job, int64_t& etypes);
// Takes the place of an access that is not ordered, and moves the pointer that it goes by.
Error place(File& file, const How& how, const Given& given, int64_t etypes, PlacedAccess& job);
// Both of a collective access: afterwards it is good on all ranks, and its place is known.
Error place_together(File& file, const How& how, const Given& given, PlacedAccess& job);
BufferUse use_of(const PlacedAccess& job);
void tell(MPI_Status* status, int64_t bytes);

}  // namespace tutti::mpi::file
