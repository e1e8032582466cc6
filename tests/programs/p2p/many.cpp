// SPDX-License-Identifier: BSD-3-Clause
// What an operation costs does not depend on how many others are outstanding: of each kind of request and operation
// 25,000, and 200,000, by the processor's time. Lists that are walked over show as a factor of eight. What leaves the
// caches of a core, and the ring between two ranks, grows too, but by less than four: "unexpected, by tag from any
// source" takes 113 ns each of 10,000, 277 of 100,000 and 412 of 800,000, "cancelled sends" 124, 272 and 379 ns of
// 500,000 (one rank, AMD EPYC with 1 MiB of L2 a core, November 2026): that is memory, and a search would go on
// growing. Arguments: the name of one kind, or all; by how much both numbers are multiplied. MANY_SHOWN shows all
// figures. NOT_MPICH, NOT_OPENMPI: some of theirs grow with the square.
#include <malloc.h>

#include <climits>
#include <ctime>

#include "check.hpp"

namespace {

constexpr int kTries = 5;
constexpr double kMost = 4;  // times as long
int few = 25'000, many = 200'000;
int rank, size, next, before;

std::vector<int> out, in;
std::vector<MPI_Request> requests;
MPI_Comm comm;
MPI_Win win;
std::vector<char> window;

double now() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
void meet() {
  OK(MPI_Barrier(MPI_COMM_WORLD));
}
int tag_of(int i) {
  return i;
}

void post(int i, int source, int tag) {
  OK(MPI_Irecv(&in[static_cast<size_t>(i)], 1, MPI_INT, source, tag, comm, &requests[static_cast<size_t>(i)]));
}
void send(int i, int tag) {
  OK(MPI_Send(&out[static_cast<size_t>(i)], 1, MPI_INT, next, tag, comm));
}
void receive(int i, int source, int tag) {
  OK(MPI_Recv(&in[static_cast<size_t>(i)], 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE));
}
void wait_all(int n) {
  OK(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE));
}
// All have come, to lie there unexpected: the last of them in order is for this tag.
void all_came() {
  int come = 0;
  while (!come) OK(MPI_Iprobe(before, many + 1, comm, &come, MPI_STATUS_IGNORE));
}
void sent_early(int n, int tag = -1) {
  for (int i = 0; i < n; ++i) send(i, tag < 0 ? tag_of(i) : tag);
  send(0, many + 1);
  all_came();
}

struct Kind {
  const char* name;
  std::function<void(int)> run;
  int share = 1;  // of the numbers: one of so many, where each takes long or much memory
};

void posted_then_sent(int n, int source, bool tagged, bool backwards) {
  for (int i = 0; i < n; ++i) post(i, source, tagged ? tag_of(i) : MPI_ANY_TAG);
  meet();
  for (int i = 0; i < n; ++i) send(i, tag_of(backwards ? n - 1 - i : i));
  wait_all(n);
}

std::vector<Kind> messages() {
  std::vector<Kind> kinds;
  kinds.push_back({"posted, by tag", [](int n) { posted_then_sent(n, before, true, false); }});
  kinds.push_back({"posted, by tag, the last first", [](int n) { posted_then_sent(n, before, true, true); }});
  kinds.push_back({"posted, by tag from any source", [](int n) { posted_then_sent(n, MPI_ANY_SOURCE, true, true); }});
  kinds.push_back({"posted, any tag", [](int n) { posted_then_sent(n, before, false, true); }});
  kinds.push_back({"posted, any tag from any source", [](int n) { posted_then_sent(n, MPI_ANY_SOURCE, false, true); }});
  kinds.push_back({"unexpected, by tag", [](int n) {
                     sent_early(n);
                     for (int i = n; i-- > 0;) receive(i, before, tag_of(i));
                     receive(0, before, many + 1);
                   }});
  kinds.push_back({"unexpected, by tag from any source", [](int n) {
                     sent_early(n);
                     for (int i = n; i-- > 0;) receive(i, MPI_ANY_SOURCE, tag_of(i));
                     receive(0, before, many + 1);
                   }});
  kinds.push_back({"unexpected, any tag", [](int n) {
                     sent_early(n, 7);
                     for (int i = 0; i < n; ++i) receive(i, before, MPI_ANY_TAG);
                     receive(0, before, many + 1);
                   }});
  kinds.push_back({"probes among the unexpected", [](int n) {
                     sent_early(n);
                     for (int i = 0; i < n; ++i) {
                       int there;
                       OK(MPI_Iprobe(MPI_ANY_SOURCE, tag_of(n - 1 - i), comm, &there, MPI_STATUS_IGNORE));
                       CHECK(there);
                       OK(MPI_Iprobe(MPI_ANY_SOURCE, many + 2, comm, &there, MPI_STATUS_IGNORE));
                       CHECK(!there);
                     }
                     for (int i = 0; i < n; ++i) receive(i, before, tag_of(i));
                     receive(0, before, many + 1);
                   }});
  kinds.push_back({"synchronous sends", [](int n) {
                     for (int i = 0; i < n; ++i)
                       OK(MPI_Issend(&out[static_cast<size_t>(i)], 1, MPI_INT, next, tag_of(i), comm,
                                     &requests[static_cast<size_t>(i)]));
                     meet();
                     for (int i = n; i-- > 0;) receive(i, before, tag_of(i));
                     wait_all(n);
                   }});
  kinds.push_back({"cancelled receives", [](int n) {
                     for (int i = 0; i < n; ++i) post(i, i % 2 ? MPI_ANY_SOURCE : before, 1);
                     for (int i = n; i-- > 0;) OK(MPI_Cancel(&requests[static_cast<size_t>(i)]));
                     wait_all(n);
                   }});
  kinds.push_back(
      {"cancelled sends", [](int n) {
         for (int i = 0; i < n; ++i)
           OK(MPI_Issend(&out[static_cast<size_t>(i)], 1, MPI_INT, next, 1, comm, &requests[static_cast<size_t>(i)]));
         meet();
         for (int i = n; i-- > 0;) OK(MPI_Cancel(&requests[static_cast<size_t>(i)]));
         wait_all(n);
       }});
  kinds.push_back({"buffered sends", [](int n) {
                     static std::vector<char> buffer(static_cast<size_t>(many) * (100 + MPI_BSEND_OVERHEAD));
                     void* at;
                     int bytes;
                     OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
                     for (int i = 0; i < n; ++i) OK(MPI_Bsend(out.data(), 20, MPI_INT, next, tag_of(i), comm));
                     static int got[20];
                     for (int i = 0; i < n; ++i)
                       OK(MPI_Recv(got, 20, MPI_INT, before, tag_of(i), comm, MPI_STATUS_IGNORE));
                     OK(MPI_Buffer_detach(&at, &bytes));
                   }});
  // Longer than what is sent at once: they wait with their sender.
  kinds.push_back(
      {"long messages, by tag",
       [](int n) {
         constexpr int kInts = 10'000;
         static std::vector<int> from(kInts, 3), to(kInts);
         for (int i = 0; i < n; ++i)
           OK(MPI_Isend(from.data(), kInts, MPI_INT, next, tag_of(i), comm, &requests[static_cast<size_t>(i)]));
         meet();
         for (int i = n; i-- > 0;) OK(MPI_Recv(to.data(), kInts, MPI_INT, before, tag_of(i), comm, MPI_STATUS_IGNORE));
         wait_all(n);
       },
       10});
  kinds.push_back({"long messages, posted",
                   [](int n) {
                     constexpr int kInts = 10'000;
                     static std::vector<int> from(kInts, 3), to(kInts);
                     std::vector<MPI_Request> receives(static_cast<size_t>(n));
                     for (int i = 0; i < n; ++i)
                       OK(MPI_Irecv(to.data(), kInts, MPI_INT, before, 1, comm, &receives[static_cast<size_t>(i)]));
                     meet();
                     for (int i = 0; i < n; ++i)
                       OK(MPI_Isend(from.data(), kInts, MPI_INT, next, 1, comm, &requests[static_cast<size_t>(i)]));
                     wait_all(n);
                     OK(MPI_Waitall(n, receives.data(), MPI_STATUSES_IGNORE));
                   },
                   10});
  return kinds;
}

std::vector<Kind> others() {
  std::vector<Kind> kinds;
  kinds.push_back({"persistent", [](int n) {
                     std::vector<MPI_Request> sends(static_cast<size_t>(n));
                     for (int i = 0; i < n; ++i) {
                       const auto at = static_cast<size_t>(i);
                       OK(MPI_Recv_init(&in[at], 1, MPI_INT, before, tag_of(i), comm, &requests[at]));
                       OK(MPI_Send_init(&out[at], 1, MPI_INT, next, tag_of(i), comm, &sends[at]));
                     }
                     OK(MPI_Startall(n, requests.data()));
                     OK(MPI_Startall(n, sends.data()));
                     wait_all(n);
                     OK(MPI_Waitall(n, sends.data(), MPI_STATUSES_IGNORE));
                     for (int i = 0; i < n; ++i) {
                       OK(MPI_Request_free(&requests[static_cast<size_t>(i)]));
                       OK(MPI_Request_free(&sends[static_cast<size_t>(i)]));
                     }
                   }});
  const auto all_arrived = [](int n) {
    for (int i = 0; i < n; ++i) post(i, before, 1);
    for (int i = 0; i < n; ++i) send(i, 1);
    int done = 0;
    while (!done) OK(MPI_Request_get_status(requests[static_cast<size_t>(n - 1)], &done, MPI_STATUS_IGNORE));
  };
  kinds.push_back({"waitany", [=](int n) {
                     all_arrived(n);
                     for (int i = 0; i < n; ++i) {
                       int index;
                       OK(MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE));
                       CHECK(index >= 0);
                     }
                   }});
  kinds.push_back({"testsome", [=](int n) {
                     static std::vector<int> indices(static_cast<size_t>(many));
                     all_arrived(n);
                     for (int left = n, found; left > 0; left -= found)
                       OK(MPI_Testsome(n, requests.data(), &found, indices.data(), MPI_STATUSES_IGNORE));
                   }});
  kinds.push_back({"nonblocking barriers",
                   [](int n) {
                     // clang-format off
                     for (int i = 0; i < n; ++i)
                       OK(MPI_Ibarrier(comm, &requests[static_cast<size_t>(i)]));
                     // clang-format on
                     wait_all(n);
                   },
                   2});
  kinds.push_back({"nonblocking reductions",
                   [](int n) {
                     for (int i = 0; i < n; ++i) {
                       const auto at = static_cast<size_t>(i);
                       OK(MPI_Iallreduce(&out[at], &in[at], 1, MPI_INT, MPI_SUM, comm, &requests[at]));
                     }
                     wait_all(n);
                   },
                   2});
  kinds.push_back({"communicators",
                   [](int n) {
                     std::vector<MPI_Comm> made(static_cast<size_t>(n));
                     for (MPI_Comm& each : made) OK(MPI_Comm_dup(comm, &each));
                     for (MPI_Comm& each : made) OK(MPI_Comm_free(&each));
                   },
                   10});
  kinds.push_back({"datatypes", [](int n) {
                     std::vector<MPI_Datatype> made(static_cast<size_t>(n));
                     for (MPI_Datatype& each : made) OK(MPI_Type_vector(3, 1, 2, MPI_INT, &each));
                     for (MPI_Datatype& each : made) OK(MPI_Type_free(&each));
                   }});
  return kinds;
}

// In one epoch, which ends within what is measured.
template <class Operation>
Kind in_epoch(const char* name, Operation operation, int share = 1) {
  return {name,
          [=](int n) {
            OK(MPI_Win_lock_all(0, win));
            for (int i = 0; i < n; ++i) operation(i);
            OK(MPI_Win_unlock_all(win));
            meet();
          },
          share};
}
template <class Operation>
Kind with_request(const char* name, Operation operation) {
  return {name, [=](int n) {
            OK(MPI_Win_lock_all(0, win));
            for (int i = 0; i < n; ++i) operation(i, &requests[static_cast<size_t>(i)]);
            wait_all(n);
            OK(MPI_Win_unlock_all(win));
            meet();
          }};
}

std::vector<Kind> one_sided() {
  std::vector<Kind> kinds;
  static int one = 1;
  static std::vector<char> far(128 << 10);
  kinds.push_back(in_epoch("puts", [](int) { OK(MPI_Put(&one, 1, MPI_INT, next, 0, 1, MPI_INT, win)); }));
  kinds.push_back(
      in_epoch("gets", [](int i) { OK(MPI_Get(&in[static_cast<size_t>(i)], 1, MPI_INT, next, 0, 1, MPI_INT, win)); }));
  kinds.push_back(
      in_epoch("accumulates", [](int) { OK(MPI_Accumulate(&one, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win)); }));
  kinds.push_back(in_epoch("fetches", [](int i) {
    OK(MPI_Fetch_and_op(&one, &in[static_cast<size_t>(i)], MPI_INT, next, 0, MPI_SUM, win));
  }));
  kinds.push_back(in_epoch(
      "puts of 40 KiB", [](int) { OK(MPI_Put(far.data(), 40'960, MPI_BYTE, next, 0, 40'960, MPI_BYTE, win)); }, 5));
  kinds.push_back(in_epoch(
      "gets of 40 KiB", [](int) { OK(MPI_Get(far.data(), 40'960, MPI_BYTE, next, 0, 40'960, MPI_BYTE, win)); }, 5));
  kinds.push_back(in_epoch(
      "gets of 128 KiB", [](int) { OK(MPI_Get(far.data(), 131'072, MPI_BYTE, next, 0, 131'072, MPI_BYTE, win)); }, 5));
  kinds.push_back(in_epoch(
      "accumulates of 4 KiB",
      [](int) { OK(MPI_Accumulate(far.data(), 1'024, MPI_INT, next, 0, 1'024, MPI_INT, MPI_SUM, win)); }, 2));
  kinds.push_back(
      with_request("rputs", [](int, MPI_Request* r) { OK(MPI_Rput(&one, 1, MPI_INT, next, 0, 1, MPI_INT, win, r)); }));
  kinds.push_back(with_request("rgets", [](int i, MPI_Request* r) {
    OK(MPI_Rget(&in[static_cast<size_t>(i)], 1, MPI_INT, next, 0, 1, MPI_INT, win, r));
  }));
  kinds.push_back({"attached regions", [](int n) {
                     static std::vector<char> memory(static_cast<size_t>(many) * 16);
                     MPI_Win dynamic;
                     OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &dynamic));
                     for (int i = 0; i < n; ++i) OK(MPI_Win_attach(dynamic, &memory[static_cast<size_t>(i) * 16], 12));
                     OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, dynamic));
                     for (int i = 0; i < n; ++i) {
                       MPI_Aint at;
                       OK(MPI_Get_address(&memory[static_cast<size_t>(n - 1 - i) * 16], &at));
                       OK(MPI_Put(&one, 1, MPI_INT, 0, at, 1, MPI_INT, dynamic));
                     }
                     OK(MPI_Win_unlock(0, dynamic));
                     for (int i = n; i-- > 0;) OK(MPI_Win_detach(dynamic, &memory[static_cast<size_t>(i) * 16]));
                     OK(MPI_Win_free(&dynamic));
                   }});
  return kinds;
}

// The processor's time of one, the least of some tries; of the rank that took the longest.
double cost(const Kind& kind, int n) {
  double least = 1e9;
  for (int i = 0; i < kTries * (n == few / kind.share ? 2 : 1); ++i) {
    meet();
    const double begun = now();
    kind.run(n);
    double took = (now() - begun) / n;
    OK(MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    least = std::min(least, took);
    if (i >= 1 && took * n > 1) break;  // long enough for one disturbance not to matter
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_TRIM_THRESHOLD, INT_MAX);  // the system's pages are had once, by the first try, and kept
  check::Program mpi(&argc, &argv);
  rank = mpi.rank();
  size = mpi.size();
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  const int times = argc > 2 ? std::atoi(argv[2]) : 1;
  few *= times;
  many *= times;
  out.resize(static_cast<size_t>(many));
  in.resize(static_cast<size_t>(many));
  requests.resize(static_cast<size_t>(many), MPI_REQUEST_NULL);
  window.resize(131'072);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Win_create(window.data(), 131'072, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  std::string slow;
  for (const auto& kinds : {messages(), others(), one_sided()})
    for (const Kind& kind : kinds) {
      if (argc > 1 && std::strcmp(argv[1], "all") != 0 && std::strcmp(argv[1], kind.name) != 0) continue;
      double of_few = 0, of_many = 0;
      for (int look = 0; look < 5; ++look) {  // a factor of eight does not go away
        of_few = cost(kind, few / kind.share);
        of_many = cost(kind, many / kind.share);
        if (of_many <= kMost * of_few) break;
      }
      if (rank == 0 && std::getenv("MANY_SHOWN"))
        std::printf("%-40s %8.0f ns %8.0f ns  %.2f\n", kind.name, of_few * 1e9, of_many * 1e9, of_many / of_few),
            std::fflush(stdout);
      if (of_many > kMost * of_few)
        slow += std::string(slow.empty() ? "" : "; ") + kind.name + ": " + std::to_string(of_few * 1e9) +
                " ns each of " + std::to_string(few / kind.share) + ", " + std::to_string(of_many * 1e9) +
                " ns each of " + std::to_string(many / kind.share);
    }
  if (!slow.empty()) check::fail(__FILE__, __LINE__, slow);
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&comm));
}
