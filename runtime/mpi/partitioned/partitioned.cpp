// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/partitioned/partitioned.hpp"

#include <utility>

#include "engine/engine.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/partitioned/api_partitioned.hpp"
#include "mpi/request/buffers_end.hpp"
#include "mpi/request/watch.hpp"

namespace tutti::mpi::partitioned {
namespace {

// What has a peer that is MPI_PROC_NULL: over when it starts.
class Nothing final : public Partitioned {
 public:
  Nothing(PartitionedArguments given, bool sends) : Partitioned(std::move(given)), sends_(sends) {}
  Error ready(int, int) override TUTTI_ENGINE_OWNED { return {}; }
  bool has_arrived(int) const override { return true; }
  bool is_send() const override { return sends_; }
  bool is_over_at_once() const override { return true; }
  void add_needs(life::Condition& needs) const override { needs.always(); }
  void fill(MPI_Status& status) const override { fill_proc_null(status); }

 private:
  void begin() override {}
  const bool sends_;
};

// Its rounds have no buffer that anything could come into.
bool is_nothing(const Partitioned& operation, engine::Engine& engine) {
  const engine::Engine::Guard own(engine);
  return operation.is_over_at_once() || operation.partitions() == 0;
}

Error make(bool sends, PartitionedArguments given, MPI_Request* request) {
  if (given.partitions < 0)
    return failure(MPI_ERR_ARG, "{} is no number of partitions (argument partitions)", given.partitions);
  if (given.partitions == 0) {
    given.has_none = true;
    given.partitions = 1;
    given.count = 0;
  }
  Comm& comm = *given.comm;
  std::shared_ptr<Partitioned> made;
  if (given.peer == MPI_PROC_NULL)
    made = std::make_shared<Nothing>(std::move(given), sends);
  else
    made = sends ? make_partitioned_send(std::move(given)) : make_partitioned_receive(std::move(given));
  auto* persistent = new PersistentRequest(comm, [made, &engine = comm.engine()](MPI_Request* round) {
    // Of a send each partition is in use once it is ready; of a receive all are, until one is known to have arrived.
    StartedBuffers buffers;
    const bool are_taken = watches_buffers && !made->is_send() && !is_nothing(*made, engine);
    if (are_taken) [[unlikely]]
      if (Error e = buffers.take({{made->memory_of(0, made->partitions() - 1), true}})) return e;
    const engine::Engine::Guard own(engine);
    Request& started = made->start();
    *round = handle_of<Request>(started);
    // Until the program hears of its end, also where all has come already.
    if (are_taken || (watches_buffers && made->round())) [[unlikely]]
      buffers.give_to(started);
    return Error();
  });
  persistent->partitioned = std::move(made);
  *request = inventory::hand_out<Request>(*persistent);
  return {};
}

// The request of a partitioned operation, or why it is none.
Error find(MPI_Request handle, const char* what, PersistentRequest*& found) {
  Request* const request = handle == MPI_REQUEST_NULL ? nullptr : resolve<Request>(handle);
  PersistentRequest* const persistent = request ? as_persistent(request) : nullptr;
  if (!persistent || !persistent->partitioned)
    return failure(MPI_ERR_REQUEST, "the request is {}: {} (argument request)",
                   request ? "not that of a partitioned operation" : "null, or freed already", what);
  error_object() = Ref<HasErrhandler>(persistent->comm.get());
  found = persistent;
  return {};
}

Error check_partition(const Partitioned& operation, int partition) {
  if (partition >= 0 && partition < operation.partitions()) return {};
  if (operation.partitions() == 0)
    return failure(MPI_ERR_ARG, "there is no partition {}: the operation has none (argument partition)", partition);
  return failure(MPI_ERR_ARG, "there is no partition {}: they are 0 to {} (argument partition)", partition,
                 operation.partitions() - 1);
}

Error ready(PersistentRequest& request, int low, int high) TUTTI_ENGINE_OWNED {
  Partitioned& operation = *request.partitioned;
  if (Error e = check_partition(operation, low)) return e;
  if (Error e = check_partition(operation, high)) return e;
  if (!operation.round() && !operation.is_given_up() && !(operation.is_over_at_once() && operation.has_begun()))
    return failure(MPI_ERR_REQUEST,
                   "partition {} is made ready before MPI_Start has started the request, or after all its "
                   "partitions are sent: a round begins with MPI_Start (the standard, section 4.2.2)",
                   low);
  if (checking.watcher) [[unlikely]]
    checking.watcher->acts();
  if (request.is_watched()) [[unlikely]]
    for (int i = low; i <= high; ++i) tell_watchers(request, Watched::partition_ready, i);
  if (watches_buffers && operation.round()) [[unlikely]] {
    const BufferUse use{operation.memory_of(low, high)};
    show_buffers(*operation.round(), {&use, 1});
  }
  return operation.ready(low, high);
}

Error find_send(MPI_Request handle, PersistentRequest*& found) {
  if (Error e = find(handle, "only one that MPI_Psend_init has made has partitions to be made ready", found)) return e;
  if (!found->partitioned->is_send())
    return failure(MPI_ERR_REQUEST,
                   "the request is one of MPI_Precv_init: its partitions are asked for by "
                   "MPI_Parrived (argument "
                   "request)");
  return {};
}

Error done(Error error) {
  if (!error) error_object() = {};
  return error;
}

}  // namespace

Partitioned::Partitioned(PartitionedArguments given) : given_(std::move(given)) {}

Request& Partitioned::start() {
  auto* const made = new PartitionedRound(*given_.comm, shared_from_this());
  made->begin();
  round_ = made;
  ++rounds_;
  awaited_ = 1;
  begin();
  one_over();
  return *made;
}

void Partitioned::one_over() {
  if (--awaited_ > 0) return;
  PartitionedRound* const over = std::exchange(round_, nullptr);
  over->finish();  // may be this operation's end
}

Payload Partitioned::memory_of(int low, int high) const {
  const auto base = reinterpret_cast<uintptr_t>(given_.buffer);
  const int64_t behind = low * given_.count * given_.type->layout->extent();
  return given_.type->payload(reinterpret_cast<void*>(base + static_cast<uintptr_t>(behind)),
                              (int64_t{high} - low + 1) * given_.count);
}

int64_t Partitioned::bytes() const {
  return given_.type->payload(given_.buffer, given_.count).bytes();
}

Error PartitionedRound::cancel() {
  return failure(MPI_ERR_REQUEST, "a partitioned operation cannot be cancelled");
}

Error psend_init(const void* buf, int partitions, int64_t count, Datatype& type, int dest, int tag, Comm& comm, Info*,
                 MPI_Request* request) {
  return make(true, {const_cast<void*>(buf), partitions, count, Ref<Datatype>(&type), dest, tag, Ref<Comm>(&comm)},
              request);
}

Error precv_init(void* buf, int partitions, int64_t count, Datatype& type, int source, int tag, Comm& comm, Info*,
                 MPI_Request* request) {
  if (source == MPI_ANY_SOURCE)
    return failure(MPI_ERR_RANK,
                   "MPI_ANY_SOURCE is not for partitioned receives: they match by a rank and a tag "
                   "(argument dest)");
  if (tag == MPI_ANY_TAG)
    return failure(MPI_ERR_TAG,
                   "MPI_ANY_TAG is not for partitioned receives: they match by a rank and a tag "
                   "(argument tag)");
  return make(false, {buf, partitions, count, Ref<Datatype>(&type), source, tag, Ref<Comm>(&comm)}, request);
}

Error pready(int partition, MPI_Request request) {
  return pready_range(partition, partition, request);
}

Error pready_range(int low, int high, MPI_Request request) {
  PersistentRequest* send = nullptr;
  if (Error e = find_send(request, send)) return e;
  if (low > high) return failure(MPI_ERR_ARG, "partitions {} to {} are no range (argument partition_high)", low, high);
  const engine::Engine::Guard own(engine_of_process());
  return done(ready(*send, low, high));
}

Error pready_list(int length, const int* partitions, MPI_Request request) {
  PersistentRequest* send = nullptr;
  if (Error e = find_send(request, send)) return e;
  if (length < 0 || (length > 0 && !partitions))
    return failure(MPI_ERR_ARG, "{} is no length of a list{} (argument length)", length,
                   partitions ? "" : ", and the list is NULL");
  const engine::Engine::Guard own(engine_of_process());
  for (int i = 0; i < length;) {
    int next = i + 1;  // a run of neighbours travels together
    while (next < length && partitions[next] == partitions[next - 1] + 1) ++next;
    if (Error e = ready(*send, partitions[i], partitions[next - 1])) return e;
    i = next;
  }
  return done({});
}

Error parrived(MPI_Request request, int partition, int* flag) {
  // As for an inactive one, nothing is outstanding (the standard, 4.2.2).
  if (request == MPI_REQUEST_NULL) {
    *flag = 1;
    return done({});
  }
  PersistentRequest* receive = nullptr;
  if (Error e = find(request, "only one that MPI_Precv_init has made has partitions that arrive", receive)) return e;
  const Partitioned& operation = *receive->partitioned;
  if (operation.is_send())
    return failure(MPI_ERR_REQUEST, "the request is one of MPI_Psend_init: nothing arrives by it (argument request)");
  if (Error e = check_partition(operation, partition)) return e;
  engine::Engine& engine = engine_of_process();
  bool moved = true;
  {
    const engine::Engine::Guard own(engine);
    *flag = !operation.round() || operation.has_arrived(partition);
    if (!*flag) {
      moved = engine.progress();
      *flag = !operation.round() || operation.has_arrived(partition);
    }
    if (*flag && receive->is_watched()) [[unlikely]]
      tell_watchers(*receive, Watched::partition_arrived, partition);
    if (*flag && buffers_end) [[unlikely]]  // nobody is told which of the partitions are still to come
      buffers_end(receive->started());
  }
  if (!*flag && !moved) engine.give_way();
  return done({});
}

}  // namespace tutti::mpi::partitioned
