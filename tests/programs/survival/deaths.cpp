// SPDX-License-Identifier: BSD-3-Clause
// A rank dies at a fault point (runtime/base/fault_point.hpp), amid a step of the library's own. Each call of the others ends,
// well or with an error of survival, within ten seconds; they agree on that, shrink, and go on: messages, collectives,
// communicators, a window and a file of those who are left work, with the right data. Linked with the tests' own library;
// run with mpirun --on-failure=continue.   Arguments: POINT:RANK:NTH, and what is done until the rank dies there, by a name
// of kScenarios; who dies in a job that is spawned is named behind it ("spawn child").
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "going_on.hpp"

namespace {

using namespace going_on;

constexpr int kRounds = 12;
constexpr std::chrono::seconds kBound{10};
const char* program = nullptr;
std::string order;  // POINT:RANK:NTH
bool child_dies = false;

// Ends the process with a sentence when a step takes longer than any call may wait for one who has failed.
class Bound {
 public:
  Bound() : thread_([this] { watch(); }) {}
  ~Bound() {
    step_ = kOver;
    thread_.join();
  }
  void begins(const char* what) {
    what_ = what;
    ++step_;
  }

 private:
  static constexpr long kOver = -1;
  void watch() const {
    long seen = 0;
    auto since = std::chrono::steady_clock::now();
    for (long now; (now = step_) != kOver; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      if (now != seen) since = std::chrono::steady_clock::now();
      seen = now;
      if (std::chrono::steady_clock::now() - since < kBound) continue;
      std::fprintf(stderr, "rank %d: %s takes more than 10 s\n", check::world_rank, what_.load());
      if (std::getenv("TUTTI_TEST_STAY")) ::pause();  // to be looked at
      std::_Exit(9);
    }
  }
  std::atomic<const char*> what_{"the start"};
  std::atomic<long> step_{0};
  std::thread thread_;
};

// The same on all nodes.
std::string job() {
  const char* const name = std::getenv("PMIX_NAMESPACE");
  std::string text = name ? name : "alone";
  std::ranges::replace(text, '/', '.');
  return text;
}

// ---- what is done

bool messages(MPI_Comm comm, std::initializer_list<int> lengths) {
  bool well = true;
  for (const int length : lengths) well = well && ring(comm, length);
  return well;
}

bool short_messages(MPI_Comm comm, int) {
  return messages(comm, {1, 1, 1, 2, 2, 2, 100, 500, 1, 1});
}

// Many at once, of whom the receivers look for none before all have been sent: records that wait for room.
bool flood(MPI_Comm comm, int) {
  constexpr int kMany = 3000;
  const int mine = rank_in(comm), members = size_of(comm);
  const int to = (mine + 1) % members, from = (mine + members - 1) % members;
  std::vector<int> out(kMany, mine), in(kMany, -1);
  std::vector<MPI_Request> requests(kMany, MPI_REQUEST_NULL);
  bool well = true;
  for (int i = 0; i < kMany && well; ++i)
    well = good(MPI_Isend(&out[static_cast<size_t>(i)], 1, MPI_INT, to, 2, comm, &requests[static_cast<size_t>(i)]),
                "isend");
  for (int i = 0; i < kMany && well; ++i)
    well = good(MPI_Recv(&in[static_cast<size_t>(i)], 1, MPI_INT, from, 2, comm, MPI_STATUS_IGNORE), "recv");
  for (MPI_Request& each : requests)
    if (each != MPI_REQUEST_NULL) {
      const bool sent = good(MPI_Wait(&each, MPI_STATUS_IGNORE), "wait of a send");
      well = well && sent;
    }
  if (well)
    for (const int each : in) CHECK_EQ(each, from);
  return well;
}

bool middling_messages(MPI_Comm comm, int) {
  return messages(comm, {1000, 4000, 8000, 4000});
}

bool long_messages(MPI_Comm comm, int) {
  return messages(comm, {100'000, 1'000'000, 300'000});
}

// From even ranks to the next ones alone: such as both sides copy, and such as follow each other.
bool one_way(MPI_Comm comm, int) {
  constexpr int kLength = 400'000, kMany = 8;
  const int mine = rank_in(comm), members = size_of(comm);
  const bool sends = mine % 2 == 0;
  const int peer = sends ? mine + 1 : mine - 1;
  if (peer >= members) return true;
  std::vector<std::vector<int>> data(kMany, std::vector<int>(kLength, sends ? mine : -1));
  bool well = true;
  const auto transfer = [&](std::vector<int>& what, MPI_Request* request) {
    const int code = sends ? MPI_Isend(what.data(), kLength, MPI_INT, peer, 3, comm, request)
                           : MPI_Irecv(what.data(), kLength, MPI_INT, peer, 3, comm, request);
    return good(code, "one way");
  };
  for (int i = 0; i < kMany && well; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    well = transfer(data[0], &request) && good(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait of one");
  }
  std::vector<MPI_Request> requests(kMany, MPI_REQUEST_NULL);
  for (int i = 0; i < kMany && well; ++i)
    well = transfer(data[static_cast<size_t>(i)], &requests[static_cast<size_t>(i)]);
  for (MPI_Request& each : requests) {
    const bool over = each == MPI_REQUEST_NULL || good(MPI_Wait(&each, MPI_STATUS_IGNORE), "wait of many");
    well = well && over;
  }
  if (well)
    for (const std::vector<int>& one : data)
      for (const int each : one) CHECK_EQ(each, sends ? mine : peer);
  return well;
}

bool collectives(MPI_Comm comm, int) {
  bool well = true;
  for (const int length : {1, 300, 5000, 100'000})
    well =
        well && allreduce(comm, length) && bcast(comm, length) && everybody(comm, length) && nonblocking(comm, length);
  return well && good(MPI_Barrier(comm), "barrier");
}

bool duplicates(MPI_Comm comm, int) {
  MPI_Comm made = MPI_COMM_NULL;
  const bool is_made = good(MPI_Comm_dup(comm, &made), "dup");
  const bool all_have_it = agreed(comm, is_made);
  const bool well = all_have_it && allreduce(made, 10);
  if (is_made) OK(MPI_Comm_free(&made));
  return well;
}

bool groups(MPI_Comm comm, int) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group all;
  OK(MPI_Comm_group(comm, &all));
  const bool is_made = good(MPI_Comm_create_group(comm, all, 5, &made), "create_group");
  OK(MPI_Group_free(&all));
  const bool all_have_it = agreed(comm, is_made);
  const bool well = all_have_it && allreduce(made, 10);
  if (is_made) OK(MPI_Comm_free(&made));
  return well;
}

bool agreements(MPI_Comm comm, int round) {
  bool well = true;
  for (int i = 0; i < 3; ++i) well = agreed(comm, true) && well;
  MPI_Comm same = MPI_COMM_NULL;
  const bool is_made = good(MPIX_Comm_shrink(comm, &same), "shrink");
  if (!is_made) return false;
  well = agreed(comm, size_of(same) == size_of(comm)) && well;
  well = well && allreduce(same, round + 1);
  OK(MPI_Comm_free(&same));
  return well;
}

// The ranks wait on a communicator that one of them, another one each time, revokes.
bool revocation(MPI_Comm comm, int round) {
  MPI_Comm made = MPI_COMM_NULL;
  const bool is_made = good(MPI_Comm_dup(comm, &made), "dup");
  if (!agreed(comm, is_made)) {
    if (is_made) OK(MPI_Comm_free(&made));
    return false;
  }
  OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  int word = 0;
  if (rank_in(comm) == round % size_of(comm)) {
    OK(MPIX_Comm_revoke(made));
  } else {
    MPI_Status status;
    CHECK(!good(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 6, made, &status), "a receive of nothing"));
    CHECK(!good(MPI_Barrier(made), "a barrier without one"));
  }
  OK(MPI_Comm_free(&made));
  return true;
}

// Whatever has failed, the window is freed.
bool in_window(MPI_Comm comm, int* memory, MPI_Win window, int length) {
  const int mine = rank_in(comm), members = size_of(comm), peer = (mine + 1) % members;
  std::vector<int> data(static_cast<size_t>(length), mine + 1), got(static_cast<size_t>(length));
  std::fill(memory, memory + 2 * length, 0);
  bool well = good(MPI_Win_fence(0, window), "fence");
  for (int turn = 0; turn < 2 && well; ++turn) {
    well = good(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, window), "lock");
    if (!well) break;
    well &= good(MPI_Put(data.data(), length, MPI_INT, peer, 0, length, MPI_INT, window), "put");
    well &= good(MPI_Win_flush(peer, window), "flush");
    well &= good(MPI_Get(got.data(), length, MPI_INT, peer, 0, length, MPI_INT, window), "get");
    well &= good(MPI_Win_unlock(peer, window), "unlock");
    if (well) CHECK_EQ(got[static_cast<size_t>(length) - 1], mine + 1);
  }
  // All at one.
  well = well && good(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), "shared lock");
  if (well) {
    well &=
        good(MPI_Accumulate(data.data(), length, MPI_INT, 0, length, length, MPI_INT, MPI_SUM, window), "accumulate");
    well &= good(MPI_Win_unlock(0, window), "unlock of all");
  }
  well = well && good(MPI_Win_fence(0, window), "last fence");
  if (well && mine == 0)
    for (int i = 0; i < length; ++i) CHECK_EQ(memory[length + i], members * (members + 1) / 2);
  return well;
}

bool windows(MPI_Comm comm, int round) {
  const int length = round % 2 ? 100'000 : 10;
  int* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const MPI_Aint bytes = static_cast<MPI_Aint>(sizeof(int)) * 2 * length;
  const bool is_made = good(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm, &memory, &window), "window");
  const bool all_have_it = agreed(comm, is_made);
  if (is_made) OK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  const bool well = all_have_it && in_window(comm, memory, window, length);
  if (is_made) OK(MPI_Win_free(&window));
  return well;
}

// Each rank has every so many blocks of the file, so that what is written goes to others first.
bool files(MPI_Comm comm, int round) {
  constexpr int kBlock = 500, kBlocks = 40;
  const int mine = rank_in(comm), members = size_of(comm);
  const std::string path = "survival.deaths." + job() + "." + std::to_string(round);
  MPI_File file = MPI_FILE_NULL;
  const bool is_open =
      good(MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &file),
           "open");
  if (!agreed(comm, is_open)) {
    if (is_open) OK(MPI_File_close(&file));
    return false;
  }
  MPI_Datatype blocks, mine_of_all;
  OK(MPI_Type_contiguous(kBlock, MPI_INT, &blocks));
  OK(MPI_Type_create_resized(blocks, 0, static_cast<MPI_Aint>(sizeof(int)) * kBlock * members, &mine_of_all));
  OK(MPI_Type_commit(&mine_of_all));
  std::vector<int> out(kBlock * kBlocks, mine + 1), in(out.size(), -1);
  const auto length = static_cast<int>(out.size());
  const auto begin = static_cast<MPI_Offset>(sizeof(int)) * kBlock * mine;
  bool well = good(MPI_File_set_view(file, begin, MPI_INT, mine_of_all, "native", MPI_INFO_NULL), "view");
  well = well && good(MPI_File_write_at_all(file, 0, out.data(), length, MPI_INT, MPI_STATUS_IGNORE), "write");
  well = well && good(MPI_File_sync(file), "sync") && good(MPI_Barrier(comm), "barrier");
  well = well && good(MPI_File_read_at_all(file, 0, in.data(), length, MPI_INT, MPI_STATUS_IGNORE), "read");
  if (well)
    for (const int each : in) CHECK_EQ(each, mine + 1);
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&blocks));
  OK(MPI_Type_free(&mine_of_all));
  return well;
}

// With those of another group or job, all of whom have `between`; they agree on `all` whether they have merged.
bool merged_with(MPI_Comm between, MPI_Comm all, bool is_child) {
  MPI_Comm merged = MPI_COMM_NULL;
  const bool is_merged = good(MPI_Intercomm_merge(between, is_child, &merged), "merge");
  // Its parents may have no use for the job any more, and never come.
  if (!is_merged && is_child) std::_Exit(0);
  if (is_merged) OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
  const bool well = agreed(all, is_merged) && allreduce(merged, 100);
  if (is_merged) OK(MPI_Comm_free(&merged));
  return well;
}

bool spawned(MPI_Comm comm, int) {
  char child[] = "child";
  std::string whom = child_dies ? order : "";
  char* arguments[] = {child, whom.data(), nullptr};
  MPI_Comm between = MPI_COMM_NULL;
  const int code = MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, comm, &between, MPI_ERRCODES_IGNORE);
  // The new ones may have ended before they were heard of.
  const bool is_there = (child_dies && check::error_class(code) == MPI_ERR_SPAWN) ? false : good(code, "spawn");
  if (is_there) OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
  const bool all_have_it = agreed(comm, is_there);
  if (is_there && !all_have_it) OK(MPIX_Comm_revoke(between));
  const bool well = all_have_it && merged_with(between, between, false);
  if (is_there) OK(MPI_Comm_free(&between));
  return well;
}

int child_of(MPI_Comm parent) {
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  {
    Bound bound;
    bound.begins("what a child does");
    merged_with(parent, parent, true);
  }
  // MPI_Finalize waits for that of the parents, who spawn others before.
  OK(MPI_Comm_free(&parent));
  OK(MPI_Finalize());
  return 0;
}

// The lower half accepts, the upper one connects.
bool connected(MPI_Comm comm, int) {
  const int mine = rank_in(comm), members = size_of(comm), first_above = members / 2;
  const bool below = mine < first_above;
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  const bool is_split = good(MPI_Comm_split(comm, below, mine, &half), "split");
  if (!agreed(comm, is_split)) {
    if (is_split) OK(MPI_Comm_free(&half));
    return false;
  }
  OK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
  char port[MPI_MAX_PORT_NAME] = "";
  // Whoever has an error calls no more, and the others wait for nobody who has failed.
  MPI_Info hints;
  OK(MPI_Info_create(&hints));
  OK(MPI_Info_set(hints, "timeout", "3"));
  if (mine == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  bool well = good(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, comm), "bcast of the port");
  if (agreed(comm, well)) {
    const int code =
        below ? MPI_Comm_accept(port, hints, 0, half, &between) : MPI_Comm_connect(port, hints, 0, half, &between);
    well = (check::error_class(code) == MPI_ERR_PORT) ? false : good(code, below ? "accept" : "connect");
    if (well) OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
    const bool all_have_it = agreed(comm, well);
    const bool is_there = well;
    well = all_have_it && merged_with(between, comm, false);
    if (is_there) OK(MPI_Comm_free(&between));
  } else {
    well = false;
  }
  if (mine == 0) OK(MPI_Close_port(port));
  OK(MPI_Info_free(&hints));
  OK(MPI_Comm_free(&half));
  return well;
}

// Nobody connects: a rank that is not the root dies, behind which the root waits for nobody any more.
bool accepted(MPI_Comm comm, int) {
  const size_t colon = order.find(':');
  const int victim = std::atoi(order.c_str() + colon + 1), root = (victim + 1) % size_of(comm);
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank_in(comm) == root) OK(MPI_Open_port(MPI_INFO_NULL, port));
  MPI_Comm between = MPI_COMM_NULL;
  CHECK(!good(MPI_Comm_accept(port, MPI_INFO_NULL, root, comm, &between), "accept"));
  if (rank_in(comm) == root) OK(MPI_Close_port(port));
  return false;
}

struct Scenario {
  std::string_view name;
  bool (*run)(MPI_Comm comm, int round);
};
constexpr Scenario kScenarios[] = {
    {"short", short_messages},  {"flood", flood},           {"middling", middling_messages},
    {"long", long_messages},    {"one_way", one_way},       {"collectives", collectives},
    {"duplicates", duplicates}, {"splits", communicators},  {"groups", groups},
    {"agreements", agreements}, {"revocation", revocation}, {"windows", windows},
    {"files", files},           {"spawn", spawned},         {"connect", connected},
    {"accept", accepted},
};

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc > 2);
  program = argv[0];
  const bool is_child = argv[1] == std::string_view("child");
  order = is_child ? argv[2] : argv[1];
  child_dies = !is_child && argc > 3 && argv[3] == std::string_view("child");
  if (argv[2] == std::string_view("accept"))
    order.replace(order.rfind(':'), std::string::npos, ":1");  // it ends by that alone
  // Those who spawn and those who are spawned have the same ranks.
  if (order.empty() || child_dies)
    ::unsetenv("TUTTI_TEST_DIE");
  else
    ::setenv("TUTTI_TEST_DIE", order.c_str(), 1);
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  check::world_rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm parent = MPI_COMM_NULL, comm = MPI_COMM_NULL;
  OK(MPI_Comm_get_parent(&parent));
  if (is_child) return child_of(parent);
  Bound bound;
  const Scenario* scenario = nullptr;
  for (const Scenario& each : kScenarios)
    if (each.name == argv[2]) scenario = &each;
  CHECK(scenario != nullptr);
  bound.begins("the first shrink");
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &comm));
  const int before = size_of(MPI_COMM_WORLD);
  int latest = 0;
  for (int round = 0; round < kRounds && size_of(comm) == before; ++round) {
    bound.begins(argv[2]);
    const bool well = scenario->run(comm, round);
    // Others may wait for this rank in what it does not come to any more.
    if (!well) OK(MPIX_Comm_revoke(comm));
    bound.begins("the agreement behind it");
    if (agreed(comm, well)) continue;
    bound.begins("shrinking");
    comm = without_failed(comm, round, &latest);
    if (child_dies) break;
  }
  const int left = size_of(comm);
  CHECK(left >= before - 1);
  // Where nobody has died until now somebody may at any time.
  for (const Scenario& each : kScenarios) {
    if (left == before && !child_dies) break;
    if (each.run == spawned || each.run == connected || each.run == accepted || each.run == revocation) continue;
    bound.begins(each.name.data());
    CHECK(each.run(comm, 100));
  }
  bound.begins("MPI_Finalize");
  const bool says = rank_in(comm) == 0;
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  if (says) std::printf("ok, %d of %d ranks are left\n", left, before);
  return 0;
}
