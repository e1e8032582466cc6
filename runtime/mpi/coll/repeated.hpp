// SPDX-License-Identifier: BSD-3-Clause
// The collectives that a program makes over and over. A call that is like one of the communicator's
// latest in all but its buffers needs nothing looked up: executions of it are found here, signature,
// plan and all, and take the buffers. Only for calls on predefined types and operations, which
// nobody can free meanwhile. How many are kept is the store's to say (exec/store.hpp).
#pragma once

#include <array>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "base/engine_owned.hpp"
#include "exec/execution.hpp"
#include "exec/store.hpp"
#include "mpi/coll/arguments.hpp"

namespace tutti::mpi {

// Of one communicator.
class Repeated {
 public:
  explicit Repeated(std::shared_ptr<exec::Store> store) : store_(std::move(store)) {}

  // Where an execution is to go back to.
  struct Home {
    uint32_t bucket = 0;
    uint32_t generation = 0;  // 0: nowhere
  };

  // An execution that a blocking call has for as long as this lives: it stays where it lies meanwhile.
  class Loan {
   public:
    Loan() = default;
    Loan(exec::Kept& place, exec::Execution& execution) : place_(&place), execution_(&execution) {}
    ~Loan() {
      if (place_) place_->return_borrowed();
    }
    Loan(const Loan&) = delete;
    explicit operator bool() const { return execution_ != nullptr; }
    exec::Execution& operator*() const { return *execution_; }

   private:
    exec::Kept* const place_ = nullptr;
    exec::Execution* const execution_ = nullptr;
  };

  // An idle execution for such a blocking call, bound to its buffers; false: there is none. Its end, too, is
  // with the engine owned.
  Loan borrow(const Arguments& given) TUTTI_ENGINE_OWNED {
    Bucket* const bucket = matching(bucket_of(given, false), given, false);
    exec::Execution* const execution = bucket ? bucket->idle[0].borrow() : nullptr;
    if (!execution) return {};
    bind(*bucket, *execution, given);
    if (bucket->has_arrays)
      execution->binding().rebind_arrays(given.sendcounts, given.sdispls, given.recvcounts, given.rdispls);
    return {bucket->idle[0], *execution};
  }

  // The same for a nonblocking call, whose arrays it has of its own: they say the same. Give it back.
  std::unique_ptr<exec::Execution> take(const Arguments& given, Home& home) TUTTI_ENGINE_OWNED {
    const uint32_t at = bucket_of(given, true);
    Bucket* const bucket = matching(at, given, true);
    if (!bucket) return nullptr;
    for (exec::Kept& kept : bucket->idle) {
      if (!kept.holds_any()) continue;
      std::unique_ptr<exec::Execution> execution = kept.take();
      bind(*bucket, *execution, given);
      home = {at, bucket->generation};
      return execution;
    }
    return nullptr;
  }

  // One that is over and was taken; it stays the caller's if its bucket belongs to other calls by now.
  void give_back(Home home, std::unique_ptr<exec::Execution>& execution) TUTTI_ENGINE_OWNED {
    Bucket* const bucket = buckets_[home.bucket].get();
    if (bucket && bucket->generation == home.generation) bucket->keep(execution);
  }

  // One that is over and was made for this call; the arrays that count are the execution's, and
  // those of types are still there. False: it stays the caller's, since its bucket belongs to another call that
  // comes often, or is full, or since it is none to be kept.
  bool keep(const Arguments& given, bool nonblocking, int ranks,
            std::unique_ptr<exec::Execution>& execution) TUTTI_ENGINE_OWNED;

 private:
  static constexpr int kPatience = 8, kBits = 5, kMostRanks = 256;
  struct Bucket {
    explicit Bucket(const std::shared_ptr<exec::Store>& store)
        : idle{exec::Kept(store), exec::Kept(store), exec::Kept(store), exec::Kept(store)} {}
    // False: so many lie here already, or the store has no room; it stays the caller's.
    bool keep(std::unique_ptr<exec::Execution>& execution) TUTTI_ENGINE_OWNED {
      for (exec::Kept& kept : std::span(idle).first(nonblocking ? std::size(idle) : 1))
        if (!kept.holds_any()) return kept.keep(execution);
      return false;
    }
    bool was_judged(const Arguments& given) const { return judged >> form_of(given) & 1; }

    Arguments call;
    bool nonblocking = false, has_arrays = false;
    uint8_t judged = 0;  // a bit for each form of buffers with which such a call has been found right
    int patience = 0;
    uint32_t generation = 0;
    // sendcounts, sdispls, recvcounts, rdispls: those that are significant.
    std::array<std::vector<int64_t>, 4> arrays;
    std::vector<MPI_Datatype> sendtypes, recvtypes;  // of them too
    exec::Kept idle[4];                              // of a blocking call the first one alone, which may be lent
  };

  // What may be wrong with buffers whatever lies in them: two that are one, and those that are not given.
  // Whether it is wrong depends on what all calls of a bucket have in common, so that it is enough that one of
  // each form has been judged.
  static unsigned form_of(const Arguments& given) {
    return static_cast<unsigned>(given.sendbuf == given.recvbuf) | static_cast<unsigned>(!given.sendbuf) << 1 |
           static_cast<unsigned>(!given.recvbuf) << 2;
  }

  static uint32_t bucket_of(const Arguments& call, bool nonblocking) {
    const uint64_t h = (static_cast<uint64_t>(call.kind) * 2 + nonblocking + static_cast<uint64_t>(call.root) * 67 +
                        (static_cast<uint64_t>(call.sendcount) + static_cast<uint64_t>(call.recvcount)) * 127) *
                       0x9e3779b97f4a7c15u;
    return static_cast<uint32_t>(h >> (64 - kBits));
  }
  // The bucket of such calls.
  Bucket* matching(uint32_t at, const Arguments& given, bool nonblocking) {
    Bucket* const bucket = buckets_[at].get();
    if (!bucket || bucket->nonblocking != nonblocking || !bucket->call.is_like(given) ||
        (bucket->has_arrays && !has_same_arrays(*bucket, given)))
      return nullptr;
    return bucket->was_judged(given) ? bucket : nullptr;
  }
  static void bind(Bucket& bucket, exec::Execution& execution, const Arguments& given) {
    bucket.patience = kPatience;
    execution.binding().rebind(given.sendbuf, given.recvbuf);
  }
  static bool has_same_arrays(const Bucket& bucket, const Arguments& given);

  const std::shared_ptr<exec::Store> store_;
  std::array<std::unique_ptr<Bucket>, 1 << kBits> buckets_;
  uint32_t generations_ = 0;
};

}  // namespace tutti::mpi
