// SPDX-License-Identifier: BSD-3-Clause
// The two sides of a partitioned operation that has a peer.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "base/mutex.hpp"
#include "engine/engine.hpp"
#include "memory/movers.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/object/current.hpp"
#include "mpi/partitioned/partitioned.hpp"

namespace tutti::mpi::partitioned {
namespace {

using engine::Operation;
using engine::RecvOperation;
using engine::SendOperation;

// Process ids are below 2^22: these are no communicator's contexts.
constexpr uint64_t kGreetings = uint64_t{1} << 62;  // in no communicator's context, nor in one of several jobs

// What numbers partitioned operations. It lives as long as the process, so that both sides of a communicator go on
// counting alike whatever is freed and begun between; and it is never destroyed, because threads of the program may be
// in calls of MPI while it exits.
struct Numbers {
  using Key = std::tuple<uint64_t, int, int, bool>;  // context, peer, tag; whether it sends
  Mutex mutex;
  std::map<Key, uint32_t> operations TUTTI_GUARDED_BY(mutex);
  uint64_t contexts = 0;  // made so far; changed by the engine's owner
};
Numbers& numbers() {
  static auto& only = *new Numbers;
  return only;
}

// Counts the operations on one side of a communicator with a peer and a tag.
uint32_t next_serial(bool sends, const PartitionedArguments& given) {
  const Lock lock(numbers().mutex);
  return numbers().operations[{given.comm->context(), given.peer, given.tag, sends}]++;
}

// Partitions that are ready together travel in messages of about so many bytes.
constexpr int64_t kTogether = 256 * 1024;

// The context of the greetings on a communicator; and one of an operation's own, which is in use as long as this lives.
uint64_t context_of_greetings(const Comm& comm) {
  return comm.context() | kGreetings;
}
class ContextInUse {
 public:
  // `peer` and `ends`: as Survivor::add_context() says.
  ContextInUse(uint64_t context, const Comm& comm, int peer, Survivor::Ends ends)
      : survivor_(survivor_of(comm)), context_(context) {
    if (survivor_) survivor_->add_context(context, comm, peer, std::move(ends));
  }
  ~ContextInUse() {
    if (survivor_) survivor_->remove_context(context_);
  }
  ContextInUse(const ContextInUse&) = delete;

 private:
  const std::shared_ptr<Survivor> survivor_;  // nullptr: nobody fails whom others outlive
  const uint64_t context_;
};

class Send final : public Partitioned {
 public:
  explicit Send(PartitionedArguments given) : Partitioned(std::move(given)), order_(next_serial(true, given_)) {}

  Error ready(int low, int high) override TUTTI_ENGINE_OWNED;
  bool has_arrived(int) const override TUTTI_ENGINE_OWNED { return true; }
  bool is_send() const override { return true; }
  bool is_given_up() const override TUTTI_ENGINE_OWNED { return is_given_up_; }
  void add_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    // While partitions are missing, what another thread of this process does.
    needs.process(left_ > 0 ? my_process() : given_.comm->process_of(given_.peer));
    if (left_ > 0)
      needs.lacks(fmt::format("{} of {} partitions of a message with tag {}", left_, given_.partitions, given_.tag));
  }
  void fill(MPI_Status& status) const override TUTTI_ENGINE_OWNED { fill_status(status, {}); }
  // Of a round that its program gives up.
  Error error(bool) const override TUTTI_ENGINE_OWNED {
    if (failed_ != MPI_SUCCESS) return failure_of({.mpi_class = failed_});
    if (left_ == 0) return {};
    return failure(MPI_ERR_REQUEST,
                   "{} of {} partitions have not been made ready, and nobody can do so once the request is freed: "
                   "the operation would never end",
                   left_, given_.partitions);
  }

 private:
  void begin() override TUTTI_ENGINE_OWNED;
  void send(SendOperation& op, const Payload& payload, const engine::Match& match) TUTTI_ENGINE_OWNED;
  void send_run(int first, int count) TUTTI_ENGINE_OWNED;
  void keep(int low, int high) TUTTI_ENGINE_OWNED;
  void give_up(int mpi_class) TUTTI_ENGINE_OWNED;
  int at_most() const { return static_cast<int>(std::max<int64_t>(1, kTogether / std::max<int64_t>(bytes(), 1))); }

  const uint32_t order_;
  Greeting greeting_;
  SendOperation greeting_send_;
  std::unique_ptr<SendOperation[]> sends_;  // by first partition
  std::vector<bool> ready_;
  int left_ = 0;  // not ready yet
  int failed_ = MPI_SUCCESS;
  bool is_given_up_ = false;  // the latest round, before all of its partitions were ready
  std::optional<ContextInUse> context_;
};

uint64_t own_context() TUTTI_ENGINE_OWNED {
  return uint64_t{1} << 63 | kGreetings | static_cast<uint64_t>(my_process()) << 40 | ++numbers().contexts << 1;
}

void Send::begin() {
  const auto count = static_cast<size_t>(given_.partitions);
  ready_.assign(count, false);
  left_ = given_.partitions;
  failed_ = MPI_SUCCESS;
  is_given_up_ = false;
  const int peer = given_.comm->process_of(given_.peer);
  // Each of these is taken off when it is over, and each partition when it is ready.
  awaited_ += given_.partitions;
  if (rounds_ == 1) {
    sends_ = std::make_unique<SendOperation[]>(count);
    greeting_ = {own_context(), bytes(), given_.partitions, given_.type->pattern, 0};
    context_.emplace(greeting_.context, *given_.comm, peer,
                     [mine = weak_from_this()](int mpi_class) TUTTI_ENGINE_OWNED {
                       if (const auto held = std::static_pointer_cast<Send>(mine.lock())) held->give_up(mpi_class);
                     });
    send(greeting_send_, {&greeting_, sizeof greeting_, &Layout::bytes()},
         {context_of_greetings(*given_.comm), given_.comm->rank(), given_.tag, order_});
  }
  if (given_.has_none) static_cast<void>(ready(0, 0));  // which nobody has made ready before
  if (const std::shared_ptr<Survivor>& survivor = survivor_of(*given_.comm))
    if (const int mpi_class = survivor->harm(*given_.comm, peer)) give_up(mpi_class);
}

// Its peer has failed, or the communicator is revoked: who is to make the missing partitions ready may have gone away
// with the same error, so nothing waits for them any more.
void Send::give_up(int mpi_class) {
  if (!round() || left_ == 0) return;
  failed_ = mpi_class;
  is_given_up_ = true;
  awaited_ -= std::exchange(left_, 0) - 1;
  one_over();
}

void Send::send(SendOperation& op, const Payload& payload, const engine::Match& match) {
  std::destroy_at(&op);
  std::construct_at(&op);
  op.payload = payload;
  op.peer = given_.comm->process_of(given_.peer);
  op.match = match;
  op.owner = this;
  op.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
    auto& all = *static_cast<Send*>(o.owner);
    if (o.outcome.mpi_class != MPI_SUCCESS) all.failed_ = o.outcome.mpi_class;
    all.one_over();
  };
  ++awaited_;
  given_.comm->engine().send(op);
}

Error Send::ready(int low, int high) {
  if (is_given_up_) return {};  // the program hears of it by the round's end
  for (int i = low; i <= high; ++i)
    if (ready_[static_cast<size_t>(i)])
      return failure(MPI_ERR_ARG,
                     "partition {} is ready already: each is made ready once between MPI_Start and "
                     "the end of the "
                     "operation (the standard, section 4.2.2)",
                     i);
  for (int i = low; i <= high; ++i) ready_[static_cast<size_t>(i)] = true;
  if (strict) [[unlikely]]
    keep(low, high);
  const int count = high - low + 1;
  left_ -= count;
  const std::shared_ptr<Partitioned> held = shared_from_this();
  if (bytes() == 0) {  // nothing travels but the word that all is there
    if (left_ == 0) send_run(0, given_.partitions);
  } else {
    for (int at = low; at <= high; at += at_most()) send_run(at, std::min(at_most(), high - at + 1));
  }
  awaited_ -= count - 1;
  one_over();
  return {};
}

void Send::send_run(int first, int count) {
  send(sends_[static_cast<size_t>(first)], memory_of(first, first + count - 1),
       {greeting_.context, given_.comm->rank(), first, rounds_});
}

// Under --check=strict: from now on the program leaves these partitions as they are.
void Send::keep(int low, int high) {
  for (int i = low; i <= high; ++i) {
    const BufferUse sent{memory_of(i, i)};
    strict->keep(*round(), {&sent, 1}, {fmt::format("partition {}", i), "operation", "4.2.2"});
  }
}

class Receive final : public Partitioned {
 public:
  explicit Receive(PartitionedArguments given) : Partitioned(std::move(given)), order_(next_serial(false, given_)) {}

  Error ready(int, int) override TUTTI_ENGINE_OWNED { return {}; }
  bool has_arrived(int partition) const override TUTTI_ENGINE_OWNED;
  bool is_send() const override { return false; }
  void add_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    needs.process(given_.comm->process_of(given_.peer));
  }
  void fill(MPI_Status& status) const override TUTTI_ENGINE_OWNED {
    fill_status(status, {.source = given_.peer, .tag = given_.tag, .bytes = fits() ? whole() : 0});
  }
  Error error(bool in_pass) const override TUTTI_ENGINE_OWNED;

 private:
  void begin() override TUTTI_ENGINE_OWNED;
  void greeted() TUTTI_ENGINE_OWNED;
  void post_all() TUTTI_ENGINE_OWNED;
  void took(RecvOperation& op) TUTTI_ENGINE_OWNED;
  int64_t whole() const { return bytes() * given_.partitions; }
  int64_t sent() const { return greeting_.bytes * greeting_.partitions; }
  bool fits() const { return sent() == whole(); }
  engine::Outcome all_of_it() const TUTTI_ENGINE_OWNED;
  Payload place(int first) const TUTTI_ENGINE_OWNED;

  const uint32_t order_;
  Greeting greeting_;
  RecvOperation greeting_receive_;
  bool is_greeted_ = false;
  std::optional<ContextInUse> context_;
  int failed_ = MPI_SUCCESS;
  // Of the sender's partitions:
  std::unique_ptr<RecvOperation[]> receives_;
  std::vector<bool> there_;
  // Packed bytes, where the sender's partitions end amid elements of the receiver's type.
  std::vector<std::byte> aside_;
};

void Receive::begin() {
  ++awaited_;
  failed_ = MPI_SUCCESS;
  if (is_greeted_) return post_all();
  greeting_receive_.payload = {&greeting_, sizeof greeting_, &Layout::bytes()};
  greeting_receive_.match = {context_of_greetings(*given_.comm), given_.peer, given_.tag, order_};
  greeting_receive_.owner = this;
  greeting_receive_.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED { static_cast<Receive*>(o.owner)->greeted(); };
  given_.comm->engine().recv(greeting_receive_);
}

void Receive::greeted() {
  if (greeting_receive_.outcome.mpi_class != MPI_SUCCESS) {
    failed_ = greeting_receive_.outcome.mpi_class;
    return one_over();  // begin()'s
  }
  is_greeted_ = true;
  context_.emplace(greeting_.context, *given_.comm, given_.comm->process_of(given_.peer), nullptr);
  receives_ = std::make_unique<RecvOperation[]>(static_cast<size_t>(greeting_.partitions));
  const Payload all = given_.type->payload(given_.buffer, given_.count * given_.partitions);
  const int64_t element = std::max<int64_t>(all.layout->size(), 1);
  if (fits() && !all.contiguous() && greeting_.bytes % element != 0) aside_.resize(static_cast<size_t>(whole()));
  post_all();
}

// Where the sender's partition and all behind it belong.
Payload Receive::place(int first) const {
  if (!fits()) return {};
  const int64_t from = greeting_.bytes * first, rest = whole() - from;
  const Payload all = given_.type->payload(given_.buffer, given_.count * given_.partitions);
  if (!aside_.empty()) return {const_cast<std::byte*>(aside_.data()) + from, rest, &Layout::bytes()};
  if (all.contiguous()) return {all.data() + from, rest, &Layout::bytes()};
  const int64_t elements = from / all.layout->size();
  return {reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(given_.buffer) +
                                  static_cast<uintptr_t>(elements * all.layout->extent())),
          all.count - elements, all.layout};
}

void Receive::post_all() {
  const int messages = greeting_.bytes == 0 ? 1 : greeting_.partitions;
  there_.assign(static_cast<size_t>(greeting_.partitions), false);
  awaited_ += messages;
  const std::shared_ptr<Partitioned> held = shared_from_this();
  engine::Engine& engine = given_.comm->engine();
  // A run that is there already brings the partitions behind its first.
  for (int i = 0; i < messages; ++i) {
    if (there_[static_cast<size_t>(i)]) continue;
    RecvOperation& op = receives_[static_cast<size_t>(i)];
    std::destroy_at(&op);
    std::construct_at(&op);
    op.payload = place(i);
    op.match = {greeting_.context, given_.peer, i, rounds_};
    op.owner = this;
    op.on_complete = [](Operation& o)
                         TUTTI_ENGINE_OWNED { static_cast<Receive*>(o.owner)->took(static_cast<RecvOperation&>(o)); };
    engine.recv(op);
  }
  one_over();  // begin()'s
}

void Receive::took(RecvOperation& op) {
  if (op.outcome.cancelled) return;
  const std::shared_ptr<Partitioned> held = shared_from_this();
  const int first = op.match.tag;
  if (op.outcome.mpi_class != MPI_SUCCESS && fits()) failed_ = op.outcome.mpi_class;
  if (greeting_.bytes == 0) {
    there_.assign(there_.size(), true);
    return one_over();
  }
  const int64_t sent = std::max(op.outcome.sent_bytes, op.outcome.bytes);
  const int count = static_cast<int>(std::max<int64_t>(1, sent / greeting_.bytes));
  if (!aside_.empty() && fits())
    memory::unpack(given_.type->payload(given_.buffer, given_.count * given_.partitions), greeting_.bytes * first,
                   aside_.data() + greeting_.bytes * first, op.outcome.bytes);
  for (int i = first; i < first + count && i < greeting_.partitions; ++i) {
    there_[static_cast<size_t>(i)] = true;
    if (i > first && receives_[static_cast<size_t>(i)].posted)
      given_.comm->engine().cancel(receives_[static_cast<size_t>(i)]);
  }
  awaited_ -= count - 1;
  one_over();
}

bool Receive::has_arrived(int partition) const {
  if (!is_greeted_ || there_.empty()) return false;
  if (greeting_.bytes == 0 || !fits()) return there_.front();
  const int64_t from = bytes() * partition, to = from + bytes();
  for (int64_t i = from / greeting_.bytes; i * greeting_.bytes < to; ++i)
    if (!there_[static_cast<size_t>(i)]) return false;
  return true;
}

// The partitions as one message, whose types are compared once for all of a round.
engine::Outcome Receive::all_of_it() const {
  engine::Outcome outcome;
  outcome.source = given_.peer;
  outcome.tag = given_.tag;
  outcome.bytes = outcome.sent_bytes = whole();
  outcome.pattern = greeting_.pattern;
  if (failed_ == MPI_SUCCESS) compare_types(outcome, *given_.type);
  return outcome;
}

Error Receive::error(bool in_pass) const {
  if (failed_ != MPI_SUCCESS && failed_ != MPI_ERR_TRUNCATE) return failure_of({.mpi_class = failed_});
  if (!is_greeted_) return {};
  if (!fits())
    return failure(
        sent() > whole() ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
        "rank {} sends {} partition{} of {} bytes with tag {}, and {} partition{} of {} "
        "bytes are expected, {} bytes {}: both sides must speak of as many bytes (the standard, section 4.2)",
        given_.peer, greeting_.partitions, greeting_.partitions == 1 ? "" : "s", greeting_.bytes, given_.tag,
        given_.partitions, given_.partitions == 1 ? "" : "s", bytes(), std::abs(sent() - whole()),
        sent() > whole() ? "less than it sends" : "more than it sends");
  if (const engine::Outcome outcome = all_of_it(); outcome.mpi_class == MPI_ERR_TYPE)
    return error_of_receive(outcome,
                            {*given_.comm, *given_.type, given_.count * given_.partitions, given_.peer, given_.tag},
                            in_pass ? AskedFrom::in_pass : AskedFrom::unowned);
  return failed_ == MPI_SUCCESS ? Error() : failure_of({.mpi_class = failed_});
}

}  // namespace

std::shared_ptr<Partitioned> make_partitioned_send(PartitionedArguments given) {
  return std::make_shared<Send>(std::move(given));
}
std::shared_ptr<Partitioned> make_partitioned_receive(PartitionedArguments given) {
  return std::make_shared<Receive>(std::move(given));
}

}  // namespace tutti::mpi::partitioned
