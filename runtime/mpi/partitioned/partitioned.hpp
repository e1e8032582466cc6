// SPDX-License-Identifier: BSD-3-Clause
// A partitioned operation (the standard, chapter 4) and its rounds, of which MPI_Start begins one
// each.
//
// The sender's first round begins with a greeting on the communicator's context for them, whose tag
// is the program's and whose serial counts the operations with this peer and tag in the order of
// their init calls: so both sides match without having talked. It names a context of this
// operation's own. There each run of partitions that are ready is an ordinary message of the
// engine, whose tag is the first partition and whose serial is the round. The receiver posts a
// receive for each of the sender's partitions, with room for all that follow; when a longer run has
// come it withdraws those of the partitions that came with it.
#pragma once

#include <memory>

#include "base/engine_owned.hpp"
#include "mpi/request/persistent.hpp"

namespace tutti::mpi::partitioned {

struct PartitionedArguments {
  void* buffer;
  int partitions;
  int64_t count;  // elements of each
  Ref<Datatype> type;
  int peer;
  int tag;
  Ref<Comm> comm;
  // Its program has given no partitions: it travels as a single one of no elements, which is ready from the start.
  bool has_none = false;
};

// What the sender tells with its first round.
struct Greeting {
  uint64_t context = 0;
  int64_t bytes = 0;  // of a partition
  int32_t partitions = 0;
  uint16_t pattern = 0;  // of their types (datatype_signature.hpp); 0: not to be compared
  uint16_t unused = 0;
};

class PartitionedRound;

class Partitioned : public std::enable_shared_from_this<Partitioned> {
 public:
  explicit Partitioned(PartitionedArguments given);
  virtual ~Partitioned() = default;
  Partitioned(const Partitioned&) = delete;

  // Begins a round, whose request is given out.
  Request& start() TUTTI_ENGINE_OWNED;

  // MPI_Pready of partitions [low, high], and MPI_Parrived of one that exists, in a round that is
  // under way.
  virtual Error ready(int low, int high) TUTTI_ENGINE_OWNED = 0;
  virtual bool has_arrived(int partition) const TUTTI_ENGINE_OWNED = 0;
  virtual bool is_send() const = 0;
  virtual bool is_over_at_once() const TUTTI_ENGINE_OWNED {
    return false;
  }  // its rounds are, before a partition is ready
  // The latest round has ended with an error before all of its partitions were ready, which still may be made so.
  virtual bool is_given_up() const TUTTI_ENGINE_OWNED { return false; }

  virtual void add_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED = 0;
  virtual void fill(MPI_Status& status) const TUTTI_ENGINE_OWNED = 0;
  // `in_pass`: asked in the midst of a pass of the engine, where no other rank can be asked.
  virtual Error error(bool in_pass) const TUTTI_ENGINE_OWNED { return (void)in_pass, Error(); }

  // The round that is under way; nullptr: none.
  PartitionedRound* round() const TUTTI_ENGINE_OWNED { return round_; }
  bool has_begun() const TUTTI_ENGINE_OWNED { return rounds_ > 0; }  // one, ever
  int partitions() const { return given_.has_none ? 0 : given_.partitions; }
  // The memory of partitions [low, high].
  Payload memory_of(int low, int high) const;

 protected:
  virtual void begin() TUTTI_ENGINE_OWNED = 0;
  // One of what the round waits for is over.
  void one_over() TUTTI_ENGINE_OWNED;
  int64_t bytes() const;  // of a partition

  const PartitionedArguments given_;
  uint32_t rounds_ = 0;  // begun
  int64_t awaited_ = 0;  // until the round is over

 private:
  PartitionedRound* round_ = nullptr;
};

class PartitionedRound final : public Request {
 public:
  PartitionedRound(Comm& comm, std::shared_ptr<Partitioned> of)
      : Request(Kind::partitioned, comm), of_(std::move(of)) {}
  void fill(MPI_Status& status) const override TUTTI_ENGINE_OWNED { of_->fill(status); }
  Error error() const override TUTTI_ENGINE_OWNED { return of_->error(false); }
  Error unheard_error() const override TUTTI_ENGINE_OWNED { return of_->error(true); }
  Error cancel() override TUTTI_ENGINE_OWNED;

 private:
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED { of_->add_needs(needs); }
  const std::shared_ptr<Partitioned> of_;
};

std::shared_ptr<Partitioned> make_partitioned_send(PartitionedArguments given);
std::shared_ptr<Partitioned> make_partitioned_receive(PartitionedArguments given);

}  // namespace tutti::mpi::partitioned
