// SPDX-License-Identifier: BSD-3-Clause
// Two ranks of one node and a third on another, all connected. What the two say to each other, by
// messages and blocking collectives, has the network asked rarely, though it is open; and what the third has
// sent to one of them comes before they have said much more. Counted, not timed: UCX's polls, and
// exchanges.
#include <dlfcn.h>

#include "progress/board.hpp"

namespace {
std::atomic<long> polls{0};
std::atomic<bool> withheld{false};  // nothing comes from the network
}  // namespace

// In place of UCX's, for the library as well.
extern "C" [[gnu::visibility("default")]] unsigned ucp_worker_progress(void* worker) {
  using Progress = unsigned (*)(void*);
  static const auto progress = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  polls.fetch_add(1, std::memory_order_relaxed);
  return withheld.load() ? 0 : progress(worker);
}

namespace {

constexpr int kFar = 2;  // the rank of the other node
constexpr int kTries = 200;
constexpr int kBatch = 512, kMostPolls = kBatch / 16;  // exchanges, and polls in them
// Exchanges after which what is there from the network has come.
constexpr long kLongestWait = 8192;
constexpr long kSettled = 4 * kLongestWait;  // by then it is asked as rarely as ever

struct Exchange {
  const char* name;
  int (*both)(MPI_Comm node, int rank, int value);  // what rank 0 of the node has given
  bool asks_rarely = true;
};

int messages(MPI_Comm node, int rank, int value) {
  int answer = value;
  if (rank == 0) {
    OK(MPI_Send(&value, 1, MPI_INT, 1, 1, node));
    OK(MPI_Recv(&answer, 1, MPI_INT, 1, 1, node, MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Recv(&answer, 1, MPI_INT, 0, 1, node, MPI_STATUS_IGNORE));
    OK(MPI_Send(&answer, 1, MPI_INT, 0, 1, node));
  }
  return answer;
}
int nonblocking_messages(MPI_Comm node, int rank, int value) {
  int theirs = -1;
  MPI_Request requests[2];
  OK(MPI_Irecv(&theirs, 1, MPI_INT, 1 - rank, 2, node, &requests[0]));
  OK(MPI_Isend(&value, 1, MPI_INT, 1 - rank, 2, node, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  return rank == 0 ? value : theirs;
}
int tested_messages(MPI_Comm node, int rank, int value) {
  int theirs = -1, done = 0;
  MPI_Request request;
  OK(MPI_Irecv(&theirs, 1, MPI_INT, 1 - rank, 3, node, &request));
  OK(MPI_Send(&value, 1, MPI_INT, 1 - rank, 3, node));
  while (!done) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  return rank == 0 ? value : theirs;
}
int bcast(MPI_Comm node, int, int value) {
  OK(MPI_Bcast(&value, 1, MPI_INT, 0, node));
  OK(MPI_Barrier(node));
  return value;
}
int allreduce(MPI_Comm node, int rank, int value) {
  const int mine = rank == 0 ? value : 0;
  int sum = -1;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, node));
  return sum;
}
int nonblocking_allreduce(MPI_Comm node, int rank, int value) {
  const int mine = rank == 0 ? value : 0;
  int sum = -1;
  MPI_Request request;
  OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, node, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return sum;
}
constexpr Exchange kExchanges[] = {
    {"messages", messages},
    {"nonblocking messages", nonblocking_messages},
    {"tested messages", tested_messages},
    {"broadcasts", bcast},
    {"allreduces", allreduce},
    {"nonblocking allreduces", nonblocking_allreduce, false},  // no message tells that they get on
};

// One of some batches needs both to run all the while, which a loaded machine does not always let them.
void network_is_asked_rarely(MPI_Comm node, int rank, const Exchange& exchange) {
  long fewest = -1;
  for (int i = 0; i < kTries && (fewest < 0 || fewest > kMostPolls); ++i) {
    const long before = polls.load();
    for (int k = 0; k < kBatch; ++k) CHECK_EQ(exchange.both(node, rank, k), k);
    long used = polls.load() - before, most = -1;
    OK(MPI_Allreduce(&used, &most, 1, MPI_LONG, MPI_MAX, node));
    fewest = fewest < 0 ? most : std::min(fewest, most);
  }
  if (rank == 0) std::printf("%s: %ld polls of UCX in %d exchanges\n", exchange.name, fewest, kBatch);
  if (fewest > kMostPolls)
    check::fail(__FILE__, __LINE__,
                "of " + std::to_string(kTries) + " batches of " + std::to_string(kBatch) + " " + exchange.name +
                    " each had UCX polled " + std::to_string(fewest) + " times or more; " + check::load_of_machine());
}

// What the third rank sends while the two exchange: a message that rank 0 has asked for, or something
// put into its memory, of which that one does not know.
struct Far {
  const char* name;
  void (*ask)(volatile int* place, MPI_Request& request);
  void (*send)(MPI_Win window, int value);
};
constexpr Far kFarOnes[] = {
    {"a message",
     [](volatile int* place, MPI_Request& request) {
       OK(MPI_Irecv(const_cast<int*>(place), 1, MPI_INT, kFar, 4, MPI_COMM_WORLD, &request));
     },
     [](MPI_Win, int value) { OK(MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD)); }},
    {"a put", [](volatile int*, MPI_Request&) {},
     [](MPI_Win window, int value) { OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window)); }},
};

// Outside of MPI. Looks rarely: a process that wakes more often beside others that never sleep has
// Linux 6.18 keep other sessions from their core for seconds, among them a node's.
void await(const check::Board& board, int event, int rank) {
  for (const double end = check::seconds() + check::kForEver; !board.told(event, rank); usleep(5000))
    CHECK(check::seconds() < end);
}

// How many exchanges the two make before rank 0 has it, from where it could be had. It is there before,
// and withheld until they are amid exchanges: its sender takes a core, for which one of them stands
// still, and the other asks the network.
long exchanges_until_seen(check::Board& board, MPI_Comm node, int rank, const Exchange& exchange, const Far& far,
                          MPI_Win window, volatile int* place) {
  const int asked = board.next_event(), sent = board.next_event();
  long count = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == kFar) {
    await(board, asked, 0);
    far.send(window, asked);
    board.tell(sent);
    OK(MPI_Win_flush(0, window));
  } else {
    if (rank == 0) {
      withheld = true;
      far.ask(place, request);
      board.tell(asked);
    }
    await(board, sent, kFar);
    for (long k = 0; k < kSettled; ++k) exchange.both(node, rank, 0);
    withheld = false;
    for (int over = 0; !over; ++count) {
      over = exchange.both(node, rank, rank == 0 && *place == asked);
      if (count > 100 * kLongestWait)
        check::fail(__FILE__, __LINE__, std::string(far.name) + " does not come among " + exchange.name);
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD));
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  check::Board board(world);
  const int rank = world.rank();
  CHECK_EQ(world.size(), 3);
  for (int distance : {1, 2}) {
    int theirs = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + distance) % 3, 0, &theirs, 1, MPI_INT, (rank + 3 - distance) % 3, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  MPI_Comm node;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int on_node = -1;
  OK(MPI_Comm_size(node, &on_node));
  CHECK_EQ(on_node, rank == kFar ? 1 : 2);
  CHECK(polls.load() > 0);
  int* place = nullptr;
  MPI_Win window;
  OK(MPI_Win_allocate(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &place, &window));
  OK(MPI_Win_lock_all(0, window));

  if (rank != kFar)
    for (const Exchange& exchange : kExchanges)
      if (exchange.asks_rarely) network_is_asked_rarely(node, rank, exchange);
  OK(MPI_Barrier(MPI_COMM_WORLD));

  for (const Exchange& exchange : kExchanges)
    for (const Far& far : kFarOnes) {
      long most = 0;
      for (int i = 0; i < 3; ++i)
        most = std::max(most, exchanges_until_seen(board, node, rank, exchange, far, window, place));
      if (rank == 0) std::printf("%s comes after %ld %s\n", far.name, most, exchange.name);
      if (most > kLongestWait)
        check::fail(__FILE__, __LINE__,
                    std::string(far.name) + " came after " + std::to_string(most) + " " + exchange.name);
    }
  OK(MPI_Win_unlock_all(window));
  OK(MPI_Win_free(&window));
  OK(MPI_Comm_free(&node));
}
