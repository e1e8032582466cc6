// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a collective call as a program gave them, with its handles resolved, and the three
// forms in which they become a call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ints.hpp"
#include "coll/call.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

// What the collective does not have is left as it is here; what is not significant on this rank may
// hold anything.
struct Arguments {
  coll::Collective kind = coll::Collective::barrier;
  int root = 0;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;  // bcast: the buffer
  int64_t sendcount = 0;
  int64_t recvcount = 0;  // bcast and reductions: count
  const Datatype* sendtype = nullptr;
  const Datatype* recvtype = nullptr;  // bcast and reductions: datatype
  Ints sendcounts, sdispls;            // v and w forms
  Ints recvcounts, rdispls;
  const MPI_Datatype* sendtypes = nullptr;  // w form
  const MPI_Datatype* recvtypes = nullptr;
  const Op* op = nullptr;

  // Alike in all but buffers and arrays. MPI_IN_PLACE is no buffer.
  bool is_like(const Arguments& other) const {
    return kind == other.kind && root == other.root && sendcount == other.sendcount && recvcount == other.recvcount &&
           sendtype == other.sendtype && recvtype == other.recvtype && op == other.op &&
           (sendbuf == MPI_IN_PLACE) == (other.sendbuf == MPI_IN_PLACE) &&
           (recvbuf == MPI_IN_PLACE) == (other.recvbuf == MPI_IN_PLACE);
  }
};

// Blocks until this rank's part is over.
Error run(const Arguments& given, Comm& comm);
// Leaves a request. What the arguments refer to, but buffers, may go when it returns.
Error start(const Arguments& given, Comm& comm, MPI_Request* request);
// Leaves an inactive request, which MPI_Start starts. Collective, and ordered among all collective
// calls on the communicator; the starts are ordered among nothing. No info is known.
Error make_persistent(const Arguments& given, Comm& comm, Info* info, MPI_Request* request);

// A copy of the arrays of `arguments` that `call` refers to: the program's may go. What is not
// significant on this rank is not given any more. Both refer to it, and stay with it.
class OwnArrays {
 public:
  OwnArrays() = default;
  OwnArrays(const OwnArrays&) = delete;

  void take_counts(Arguments& arguments, coll::Call& call, const coll::ArrayLengths& lengths) {
    take(0, arguments.sendcounts, call.in_counts, lengths.in);
    take(1, arguments.sdispls, call.in_displacements, lengths.in);
    take(2, arguments.recvcounts, call.out_counts, lengths.out);
    take(3, arguments.rdispls, call.out_displacements, lengths.out);
  }
  void take_types(Arguments& arguments, const coll::Call& call) {
    take(sendtypes_, arguments.sendtypes, call.in_types.size());
    take(recvtypes_, arguments.recvtypes, call.out_types.size());
  }

 private:
  void take(size_t which, Ints& given, Ints& significant, int length) {
    if (significant) {
      std::vector<int64_t>& own = numbers_[which];
      for (int i = 0; i < length; ++i) own.push_back(significant[i]);
      significant = Ints(own.data());
    }
    given = significant;
  }
  static void take(std::vector<MPI_Datatype>& own, const MPI_Datatype*& given, size_t significant) {
    if (significant > 0) own.assign(given, given + significant);
    given = significant > 0 ? own.data() : nullptr;
  }

  std::vector<int64_t> numbers_[4];
  std::vector<MPI_Datatype> sendtypes_, recvtypes_;
};

}  // namespace tutti::mpi
