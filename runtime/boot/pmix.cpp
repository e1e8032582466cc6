// SPDX-License-Identifier: BSD-3-Clause
// The PMIx client. Works under any PMIx 4 server: puts one key, fences over all, gets lazily, and
// reads job-level keys only (those of remote ranks are not given everywhere).
#include <mpi.h>
#include <pmix.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/address_key.hpp"
#include "base/address_table.hpp"
#include "base/flush.hpp"
#include "base/handshake.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/os/home.hpp"
#include "base/os/leaks.hpp"
#include "base/os/own_threads.hpp"
#include "base/waits_event.hpp"
#include "boot/admission.hpp"
#include "boot/joining.hpp"
#include "boot/mapping.hpp"
#include "boot/patience.hpp"
#include "boot/pmix_ends.hpp"

namespace tutti::boot {
namespace {

constexpr char kNodeKey[] = "tutti.node", kWaitsKey[] = "tutti.waits", kProgramKey[] = "tutti.program";
constexpr int kUntilKilled = 500;  // milliseconds
constexpr int kTryFor = 1;         // seconds, between which patience may be lost
// How long a thread that ends the job waits for another one that joins or leaves at this moment.
constexpr std::chrono::seconds kForTheOther{2};

// Joining, leaving and ending the job, by one thread at a time: PMIx cannot be told of the end of a job
// while another thread leaves it. Whoever ends the job never gives it back.
TimedMutex& membership() {
  static auto* mutex = new TimedMutex;  // outlives exit handlers
  return *mutex;
}
std::atomic<bool> is_aborting{false};

Error pmix_failure(const std::string& what, pmix_status_t status) {
  return failure(MPI_ERR_OTHER, "{}: the PMIx server says {}", what, PMIx_Error_string(status));
}

class PmixJob final : public Membership {
 public:
  Error start();
  Error publish(const std::string& address) override;
  Error fence() override;
  Error tell_node(const std::string& word) override {
    return put(PMIX_LOCAL, kNodeKey, word, "telling the ranks of this node where their memory is");
  }
  Result<std::string> told_by(int rank) override;
  Result<std::string> address_of(int rank) override;
  std::vector<int> nodes() override;
  void report_ends(members::Processes& members) override { hear_of_ends(members, me_.nspace); }
  void leave() override;
  [[noreturn]] void abort(int code, const std::string& message) override;

 private:
  Error join_server();
  Error look();
  pmix_status_t enter() TUTTI_REQUIRES(membership());
  bool belongs_to_the_end();
  // A job-level value as a number or a text; the fallback where the server does not give it.
  int64_t job_number(const char* key, int64_t fallback) const;
  std::string job_text(const char* key) const;
  Error count_programs();
  // Tutti's servers keep what they have once fetched of other nodes.
  std::string of_this_program(const char* key) const { return fmt::format("{}.{}", key, program_); }
  Error put(pmix_scope_t scope, const char* key, const std::string& bytes, const char* what) const;
  // `seconds`: how long to try at a time; 0: as long as the server does.
  Result<std::string> get(int rank, const char* key, const std::string& what, int seconds = 0);
  Patience::Means means_of_patience();
  void lose_patience();
  std::string_view address_in_table(int rank);
  bool is_here(int rank) const { return std::ranges::binary_search(view_.node_ranks, rank); }
  int first_elsewhere() const;
  pmix_status_t fence_once();
  pmix_status_t fence_of_beginners();
  Error outcome_of_fence(pmix_status_t status);
  pmix_status_t fence_with_patience(const pmix_proc_t& everyone, const pmix_info_t how[], size_t count);
  pmix_proc_t process(pmix_rank_t rank) const {
    pmix_proc_t p;
    PMIX_LOAD_PROCID(&p, me_.nspace, rank);
    return p;
  }

  pmix_proc_t me_{};
  bool has_left_ TUTTI_GUARDED_BY(membership()) = false;
  int program_ = 1;                   // a rank may run several, one after the other
  bool publishes_ = false;            // with the fence under way
  std::optional<Patience> patience_;  // until all ranks have come
  int awaited_ = -1;                  // in told_by()
  Mutex table_mutex_;
  bool table_awaited_ TUTTI_GUARDED_BY(table_mutex_) = false;
  std::optional<AddressTable> table_ TUTTI_GUARDED_BY(table_mutex_);  // once it is there, it stays as it is
};

// What PMIx's thread answers. There is one client in a process, and it outlives every job.
PmixAnswer fence_answer;
std::atomic<std::atomic<bool>*> have_come;  // by rank, from the first question on

void fence_answered(pmix_status_t status, void*) {
  fence_answer.give(status);
}

// `rank` as it is. That a rank has other keys than the one asked for says as much.
void rank_answered(pmix_status_t status, pmix_value_t*, void* rank) {
  if (status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND)
    have_come.load(std::memory_order_acquire)[reinterpret_cast<uintptr_t>(rank)].store(true, std::memory_order_relaxed);
}

int64_t as_number(const pmix_value_t& value) {
  switch (value.type) {
      // clang-format off
    case PMIX_UINT32: return value.data.uint32;
    case PMIX_UINT16: return value.data.uint16;
    case PMIX_UINT64: return static_cast<int64_t>(value.data.uint64);
    case PMIX_INT: return value.data.integer;
    case PMIX_UINT: return value.data.uint;
    case PMIX_INT32: return value.data.int32;
    case PMIX_SIZE: return static_cast<int64_t>(value.data.size);
    case PMIX_PROC_RANK: return value.data.rank;
    default: return -1;
      // clang-format on
  }
}

int64_t PmixJob::job_number(const char* key, int64_t fallback) const {
  const pmix_proc_t job = process(PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&job, key, nullptr, 0, &value) != PMIX_SUCCESS) return fallback;
  const int64_t number = as_number(*value);
  PMIX_VALUE_RELEASE(value);
  return number < 0 ? fallback : number;
}

std::string PmixJob::job_text(const char* key) const {
  const pmix_proc_t job = process(PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&job, key, nullptr, 0, &value) != PMIX_SUCCESS) return {};
  std::string text = value->type == PMIX_STRING && value->data.string ? value->data.string : "";
  PMIX_VALUE_RELEASE(value);
  return text;
}

pmix_status_t PmixJob::enter() {
  const SomeHome home;
  const StartsOwnThreads of_pmix_too;
  const LeaksNotSought of_pmix;
  return PMIx_Init(&me_, nullptr, 0);
}

Error PmixJob::join_server() {
  const std::string launcher = other_numbers_of_launcher();
  const char* job_id = std::getenv("TUTTI_JOB");  // the namespace of our own launcher is a secret
  const std::string joining = fmt::format("joining job {} as rank {}", job_id ? job_id : std::getenv("PMIX_NAMESPACE"),
                                          std::getenv("PMIX_RANK"));
  std::optional<NoClaim> no_claim;
  if (!launcher.empty() && !no_claim.emplace()) return not_let_in(launcher).within(joining);
  const Clock::time_point begin = Clock::now();
  pmix_status_t status;
  {
    const Lock alone(membership());
    status = enter();
  }
  if (status == PMIX_SUCCESS) return {};
  const char* const limit = std::getenv(kHandshakeVariable);
  if (const auto waited = std::chrono::round<std::chrono::seconds>(Clock::now() - begin);
      job_id && limit && std::atoi(limit) > 0 && waited.count() >= std::atoi(limit))
    return failure(MPI_ERR_OTHER,
                   "{}: the PMIx server of this node has not answered for {} s; is mpirun (or tuttid) stopped?",
                   joining, waited.count());
  if (!launcher.empty()) return not_let_in(launcher).within(joining);
  return pmix_failure(joining, status);
}

// PMIx (4.2) loses count of a rank that it has refused, and answers nobody any more: who was refused does not ask again.
Error PmixJob::start() {
  static Mutex mutex;
  static std::string refusal TUTTI_GUARDED_BY(mutex);
  const Lock alone(mutex);
  if (!refusal.empty()) return failure(MPI_ERR_OTHER, "{}", refusal);
  if (Error e = join_server()) {
    refusal = e.message();
    return e;
  }
  return look();
}

Error PmixJob::look() {
  const char* const job_id = std::getenv("TUTTI_JOB");
  view_.rank = static_cast<int>(me_.rank);
  view_.size = static_cast<int>(job_number(PMIX_JOB_SIZE, 0));
  if (view_.size <= view_.rank)
    return failure(MPI_ERR_OTHER, "the PMIx server gives no job size (PMIX_JOB_SIZE) for rank {}", view_.rank);
  view_.id = job_id ? job_id : me_.nspace;
  view_.own_launcher = job_id != nullptr;
  view_.universe_size = static_cast<int>(job_number(PMIX_UNIV_SIZE, 0));

  pmix_value_t* value = nullptr;
  if (PMIx_Get(&me_, PMIX_APPNUM, nullptr, 0, &value) == PMIX_SUCCESS) {
    view_.application = static_cast<int>(std::max<int64_t>(as_number(*value), 0));
    PMIX_VALUE_RELEASE(value);
  } else if (const char* told = std::getenv("TUTTI_APPNUM"); told && view_.own_launcher) {
    view_.application = std::max(std::atoi(told), 0);  // PMIx is not told of each rank of a crowded node
  }
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  view_.host = name;

  view_.node_ranks.clear();
  std::istringstream peers(job_text(PMIX_LOCAL_PEERS));
  for (std::string one; std::getline(peers, one, ',');) view_.node_ranks.push_back(std::atoi(one.c_str()));
  if (view_.node_ranks.empty()) view_.node_ranks.push_back(view_.rank);
  std::sort(view_.node_ranks.begin(), view_.node_ranks.end());
  patience_.emplace(view_, Clock::now(), means_of_patience());
  // The fence of other launchers carries what is new, and on one node the one server has it.
  const bool between_nodes = view_.node_ranks.size() < static_cast<size_t>(view_.size);
  return view_.own_launcher && between_nodes ? count_programs() : Error();
}

Error PmixJob::count_programs() {
  pmix_info_t at_once;
  bool yes = true;
  PMIX_INFO_LOAD(&at_once, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
  pmix_value_t* value = nullptr;
  for (; PMIx_Get(&me_, of_this_program(kProgramKey).c_str(), &at_once, 1, &value) == PMIX_SUCCESS; ++program_)
    PMIX_VALUE_RELEASE(value);
  PMIX_INFO_DESTRUCT(&at_once);
  return put(PMIX_LOCAL, kProgramKey, "runs", "telling that this rank has begun");
}

Error PmixJob::put(pmix_scope_t scope, const char* key, const std::string& bytes, const char* what) const {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = const_cast<char*>(bytes.data());  // PMIx_Put copies
  value.data.bo.size = bytes.size();
  if (pmix_status_t s = PMIx_Put(scope, of_this_program(key).c_str(), &value); s != PMIX_SUCCESS)
    return pmix_failure(what, s);
  if (pmix_status_t s = PMIx_Commit(); s != PMIX_SUCCESS) return pmix_failure(what, s);
  return {};
}

Result<std::string> PmixJob::told_by(int rank) {
  awaited_ = rank;
  Result<std::string> word = get(rank, kNodeKey, "asking for the memory of this node's ranks", kTryFor);
  awaited_ = -1;
  return word;
}

Result<std::string> PmixJob::get(int rank, const char* key, const std::string& what, int seconds) {
  const pmix_proc_t peer = process(static_cast<pmix_rank_t>(rank));
  pmix_value_t* value = nullptr;
  pmix_status_t status;
  pmix_info_t time;
  PMIX_INFO_LOAD(&time, PMIX_TIMEOUT, &seconds, PMIX_INT);
  // A server waits for two seconds, a rank may start later.
  const std::string name = of_this_program(key);
  while ((status = PMIx_Get(&peer, name.c_str(), &time, seconds > 0 ? 1 : 0, &value)) == PMIX_ERR_TIMEOUT)
    if (patience_ && patience_->next() && *patience_->next() <= Clock::now()) lose_patience();
  PMIX_INFO_DESTRUCT(&time);
  if (status != PMIX_SUCCESS) return pmix_failure(what, status);
  std::string bytes;
  if (value->type == PMIX_BYTE_OBJECT) bytes.assign(value->data.bo.bytes, value->data.bo.size);
  PMIX_VALUE_RELEASE(value);
  return bytes;
}

Patience::Means PmixJob::means_of_patience() {
  Patience::Means means;
  if (view_.own_launcher) {
    means.tell = [this] {
      pmix_info_t for_nobody_else;
      bool yes = true;
      PMIX_INFO_LOAD(&for_nobody_else, PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
      // Not PMIX_RANGE_RM: what is for the launcher alone the library does not pass on to it.
      PMIx_Notify_event(kWaitsEvent, &me_, PMIX_RANGE_SESSION, &for_nobody_else, 1, nullptr, nullptr);
      PMIX_INFO_DESTRUCT(&for_nobody_else);
    };
    return means;
  }
  means.tell = [this] {
    if (Error e = put(PMIX_GLOBAL, kWaitsKey, "", "telling that this rank waits")) say(Level::debug, "{}", e.message());
  };
  means.ask = [this](int rank) {
    // PMIx would tie that call to this question, which has no end, and both would be silent.
    if (rank == awaited_) return;
    if (!have_come.load(std::memory_order_relaxed))
      have_come.store(new std::atomic<bool>[static_cast<size_t>(view_.size)] {}, std::memory_order_release);
    const pmix_proc_t peer = process(static_cast<pmix_rank_t>(rank));
    // Not PMIx_Get with a time to wait: Slurm's server knows none for ranks of other nodes.
    PMIx_Get_nb(&peer, of_this_program(kWaitsKey).c_str(), nullptr, 0, rank_answered,
                reinterpret_cast<void*>(static_cast<uintptr_t>(rank)));
  };
  means.has_come = [](int rank) {
    const std::atomic<bool>* all = have_come.load(std::memory_order_relaxed);
    return all && all[rank].load(std::memory_order_relaxed);
  };
  return means;
}

void PmixJob::lose_patience() {
  if (const std::optional<std::string> sentence = patience_->lose(Clock::now())) say(Level::warning, "{}", *sentence);
}

Error PmixJob::publish(const std::string& address) {
  if (Error e = put(PMIX_GLOBAL, kAddressKey, address, "publishing this rank's address")) return e;
  publishes_ = view_.own_launcher;
  Error e = fence();
  publishes_ = false;
  return e;
}

// The first one is that of the start: patience ends with it.
Error PmixJob::fence() {
  return outcome_of_fence(patience_ ? fence_of_beginners() : fence_once());
}

// A rank of this node that leaves PMIx (4.2) behind an earlier start of its own, to come back or not, counts as lost in
// the fence of those who are back already: they meet again, where it comes to the next one. Between nodes ranks leave
// behind a fence of all.
pmix_status_t PmixJob::fence_of_beginners() {
  const bool here = view_.node_ranks.size() == static_cast<size_t>(view_.size);
  pmix_status_t status;
  do status = fence_once();
  while (status == PMIX_ERR_PARTIAL_SUCCESS && view_.own_launcher && here);
  return status;
}

pmix_status_t PmixJob::fence_once() {
  // Over all: Slurm's server gets lists of ranks wrong. Tutti's launcher is told which addresses have been published,
  // and has them until somebody asks (address_of). Other servers are given the data to carry around:
  // without, Slurm's lets ranks go before those of other nodes have come.
  const pmix_proc_t everyone = process(PMIX_RANK_WILDCARD);
  pmix_info_t how[2];
  bool carry = !view_.own_launcher;
  PMIX_INFO_LOAD(&how[0], PMIX_COLLECT_DATA, &carry, PMIX_BOOL);
  const std::string published = of_this_program(kAddressKey);
  PMIX_INFO_LOAD(&how[1], kPublishedKey, published.c_str(), PMIX_STRING);
  const size_t count = publishes_ ? 2 : 1;
  const pmix_status_t status =
      patience_ ? fence_with_patience(everyone, how, count) : PMIx_Fence(&everyone, 1, how, count);
  for (pmix_info_t& each : how) PMIX_INFO_DESTRUCT(&each);
  return status;
}

Error PmixJob::outcome_of_fence(pmix_status_t status) {
  if (status != PMIX_SUCCESS)
    return pmix_failure("waiting for the other ranks, one of which may have ended before", status);
  patience_.reset();
  return {};
}

pmix_status_t PmixJob::fence_with_patience(const pmix_proc_t& everyone, const pmix_info_t how[], size_t count) {
  fence_answer.expect();
  const pmix_status_t begun = PMIx_Fence_nb(&everyone, 1, how, count, fence_answered, nullptr);
  if (begun == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
  if (begun != PMIX_SUCCESS) return begun;
  for (;;) {
    if (const std::optional<int> status = fence_answer.await(patience_->next())) return *status;
    lose_patience();
  }
}

int PmixJob::first_elsewhere() const {
  int rank = 0;
  while (is_here(rank)) ++rank;
  return rank;
}

// The first rank of a node that asks has the node's launcher write the table; the others find it.
std::string_view PmixJob::address_in_table(int rank) {
  const char* const folder = std::getenv(kJobFolderVariable);
  if (!folder || !view_.own_launcher || is_here(rank)) return {};
  const Lock lock(table_mutex_);
  if (!table_awaited_) {
    const std::string file = fmt::format("{}/{}", folder, of_this_program(kAddressKey));
    table_ = AddressTable::open(file);
    if (!table_) {
      const auto question = fmt::format("{}.{}", kTableKey, kAddressKey);
      static_cast<void>(get(first_elsewhere(), question.c_str(), "asking for the addresses of all ranks"));
      table_ = AddressTable::open(file);
    }
    table_awaited_ = true;
  }
  return table_ ? table_->of(rank) : std::string_view();
}

// A rank that does not see the table, because it runs in a container of its own, asks for each address. PMIx (4.2)
// gives a question the answer to one about the same rank that is under way: such as another rank's for the table, of
// which each asks one in its life.
Result<std::string> PmixJob::address_of(int rank) {
  if (const std::string_view known = address_in_table(rank); !known.empty()) return std::string(known);
  const std::string what = fmt::format("asking for the address of rank {}", rank);
  Result<std::string> address = get(rank, kAddressKey, what);
  for (size_t others = is_here(rank) ? 0 : view_.node_ranks.size(); !address && others > 0; --others)
    address = get(rank, kAddressKey, what);
  if (address && address->empty()) return failure(MPI_ERR_OTHER, "rank {} published no address", rank);
  return address;
}

// Tutti's own server knows of its node's ranks alone, and gives the others as one text.
std::vector<int> PmixJob::nodes() {
  if (view_.own_launcher)
    if (std::vector<int> mapped = nodes_of_mapping(job_text(PMIX_ANL_MAP), view_.size); !mapped.empty()) return mapped;
  char* list = nullptr;
  if (PMIx_Resolve_nodes(me_.nspace, &list) != PMIX_SUCCESS || !list) return {};
  std::istringstream names(list);
  std::free(list);
  std::vector<int> node_of(static_cast<size_t>(view_.size), -1);
  int node = 0;
  for (std::string name; std::getline(names, name, ','); ++node) {
    pmix_proc_t* peers = nullptr;
    size_t count = 0;
    if (PMIx_Resolve_peers(name.c_str(), me_.nspace, &peers, &count) != PMIX_SUCCESS) return {};
    for (size_t i = 0; i < count; ++i)
      if (peers[i].rank < node_of.size()) node_of[peers[i].rank] = node;
    PMIX_PROC_FREE(peers, count);
  }
  if (std::ranges::find(node_of, -1) != node_of.end()) return {};
  return node_of;
}

void PmixJob::leave() {
  hear_of_no_ends();
  {
    const Lock alone(membership());
    const LeaksNotSought of_pmix;
    PMIx_Finalize(nullptr, 0);
    has_left_ = true;
  }
  // Another thread ends the job, and this process with it. A good end of the program meanwhile would
  // be told instead of what that thread has to say.
  while (is_aborting) ::pause();
}

// Another thread of this rank may end the job as well, or leave it: then it is joined once more. It has membership()
// from here on for ever, unless another thread has kept it too long: so this is not proven.
bool PmixJob::belongs_to_the_end() TUTTI_NOT_PROVEN {
  const bool alone = membership().try_lock_until(Clock::now() + kForTheOther);
  return !alone || !has_left_ || enter() == PMIX_SUCCESS;
}

void PmixJob::abort(int code, const std::string& message) {
  is_aborting = true;
  // Before the launcher hears of it, and ends this rank as all others.
  flush_streams();
  // Tutti's launcher prints the message, once for the job; others do not, and may kill this rank at once.
  if (!view_.own_launcher) say(Level::error, "{}", message);
  const bool told = belongs_to_the_end() && PMIx_Abort(code, message.c_str(), nullptr, 0) == PMIX_SUCCESS;
  if (!told && view_.own_launcher) say(Level::error, "{}", message);
  // Who ends here closes its connections, of which UCX tells at their other ends in words of its
  // own: the launcher may be quicker to end all. It may be gone, too.
  if (told && !view_.own_launcher) ::poll(nullptr, 0, kUntilKilled);
  _exit(code);
}

}  // namespace

bool pmix_offered() {
  return std::getenv("PMIX_NAMESPACE") && std::getenv("PMIX_RANK");
}

Result<std::unique_ptr<Membership>> join_pmix() {
  auto job = std::make_unique<PmixJob>();
  if (Error e = job->start()) return e;
  return std::unique_ptr<Membership>(std::move(job));
}

}  // namespace tutti::boot
