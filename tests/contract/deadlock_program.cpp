// SPDX-License-Identifier: BSD-3-Clause
// Programs that stand still for ever, and their right twins; argv[1] names one. They use the MPI
// interface alone. deadlock.py knows what each is to be told.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank, size;
int value = 7, other = 0;
std::vector<char> large(1 << 20), into(1 << 20);
const MPI_Comm world = MPI_COMM_WORLD;

void send(int to, int tag = 1) {
  MPI_Send(&value, 1, MPI_INT, to, tag, world);
}
void ssend(int to, int tag = 1) {
  MPI_Ssend(&value, 1, MPI_INT, to, tag, world);
}
void recv(int from, int tag = 1) {
  MPI_Recv(&other, 1, MPI_INT, from, tag, world, MPI_STATUS_IGNORE);
}
MPI_Request irecv(int from, int tag = 1) {
  static int places[64], used;
  MPI_Request request;
  MPI_Irecv(&places[used++ % 64], 1, MPI_INT, from, tag, world, &request);
  return request;
}
MPI_Request issend(int to, int tag = 1) {
  MPI_Request request;
  MPI_Issend(&value, 1, MPI_INT, to, tag, world, &request);
  return request;
}
// A window of an int on each rank.
MPI_Win window() {
  static int memory;
  MPI_Win win;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, world, &win);
  return win;
}
// Where the ranks of a node share it.
MPI_Win allocated_window() {
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, world, &memory, &win);
  return win;
}
// Behind a flush at the latest a lock is held.
void hold(int target, MPI_Win win) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  MPI_Win_flush(target, win);
}
// The second one waits at the latest: the first one need not, where memory is another process's alone.
void lock_and_unlock(int type, int target, MPI_Win win) {
  MPI_Win_lock(type, target, 0, win);
  MPI_Win_unlock(target, win);
}
// The last rank holds rank 0's part alone and then does `last`; the two before it share the lock, of which the first one waits
// for the second one before that has it; rank 0 waits for the first one. Of four.
template <class Last>
void share_behind_one_alone(Last last) {
  MPI_Win win = window();
  MPI_Comm both;
  MPI_Comm_split(world, rank == 1 || rank == 2, rank, &both);
  if (rank == 3) hold(0, win);
  MPI_Barrier(world);
  // Behind the second answer rank 0 has the question for rank 1's lock, and then rank 2 asks.
  for (int i = 0; i < 2 && rank == 0; ++i) {
    recv(1, 2);
    send(1, 2);
  }
  if (rank == 0) recv(1);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (int i = 0; i < 2; ++i) {
      send(0, 2);
      recv(0, 2);
    }
    send(2, 2);
    MPI_Barrier(both);
    MPI_Win_unlock(0, win);
    send(0);
  }
  if (rank == 2) {
    recv(1, 2);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Win_flush(0, win);
    MPI_Barrier(both);
    MPI_Win_unlock(0, win);
  }
  if (rank == 3) {
    last();
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
  MPI_Comm_free(&both);
}
MPI_File file() {
  MPI_File opened;
  MPI_File_open(world, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &opened);
  return opened;
}
MPI_Group group_of(int member) {
  MPI_Group all, one;
  MPI_Comm_group(world, &all);
  MPI_Group_incl(all, 1, &member, &one);
  MPI_Group_free(&all);
  return one;
}
// Three communicators of two ranks each: {0,1}, {1,2}, {2,0}; MPI_COMM_NULL where not a member.
std::vector<MPI_Comm> triangle() {
  std::vector<MPI_Comm> comms(3, MPI_COMM_NULL);
  for (int i = 0; i < 3; ++i) {
    const bool in = rank == i || rank == (i + 1) % 3;
    MPI_Comm_split(world, in ? 0 : MPI_UNDEFINED, rank == i ? 0 : 1, &comms[static_cast<size_t>(i)]);
  }
  return comms;
}
void bcast(MPI_Comm comm, int root) {
  MPI_Bcast(large.data(), 1 << 20, MPI_CHAR, root, comm);
}
// More than there is shared memory for.
void many_ibcasts() {
  constexpr int count = 300, bytes = 1 << 16;
  std::vector<char> data(static_cast<size_t>(count) * bytes);
  std::vector<MPI_Request> all(count);
  for (int i = 0; i < count; ++i)
    MPI_Ibcast(&data[static_cast<size_t>(i) * bytes], bytes, MPI_CHAR, 0, world, &all[static_cast<size_t>(i)]);
  MPI_Waitall(count, all.data(), MPI_STATUSES_IGNORE);
}
void compute(double seconds) {
  usleep(static_cast<useconds_t>(seconds * 1e6));
}
const double kLong = std::getenv("TUTTI_TEST_LONG") ? std::atof(std::getenv("TUTTI_TEST_LONG")) : 1.5;

const std::map<std::string, std::function<void()>> cases{
    // ---- wrong
    {"receives", [] { recv(rank ^ 1); }},
    {"ring", [] { recv((rank + 1) % size); }},
    {"ssends", [] { ssend(rank ^ 1), recv(rank ^ 1); }},
    {"long_sends",
     [] {
       MPI_Send(large.data(), 1 << 20, MPI_CHAR, rank ^ 1, 1, world);
       MPI_Recv(into.data(), 1 << 20, MPI_CHAR, rank ^ 1, 1, world, MPI_STATUS_IGNORE);
     }},
    {"nobody_sends",
     [] {
       if (rank == 0) recv(1);
     }},
    {"nobody_receives",
     [] {
       if (rank == 0) ssend(1);
     }},
    {"partitioned_against_recv",
     [] {
       MPI_Request request = MPI_REQUEST_NULL;
       if (rank == 1) {
         MPI_Psend_init(into.data(), 2, 2, MPI_INT, 0, 5, world, MPI_INFO_NULL, &request);
         MPI_Start(&request);
         MPI_Pready_range(0, 1, request);
       } else if (rank == 0) {
         recv(1, 5);
       }
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"recv_of_partitions",
     [] {
       MPI_Request request = MPI_REQUEST_NULL;
       if (rank == 0) {
         MPI_Precv_init(into.data(), 2, 2, MPI_INT, 1, 5, world, MPI_INFO_NULL, &request);
         MPI_Start(&request);
       } else if (rank == 1) {
         send(0, 5);
       }
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"partition_never_ready",  // the receiver looks for ever
     [] {
       MPI_Request request = MPI_REQUEST_NULL;
       if (rank == 1) {
         MPI_Psend_init(into.data(), 3, 2, MPI_INT, 0, 5, world, MPI_INFO_NULL, &request);
         MPI_Start(&request);
         MPI_Pready(0, request);
       } else if (rank == 0) {
         MPI_Precv_init(into.data(), 3, 2, MPI_INT, 1, 5, world, MPI_INFO_NULL, &request);
         MPI_Start(&request);
         for (int flag = 0; !flag;) MPI_Parrived(request, 2, &flag);
       }
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"wrong_tag", [] { rank == 0   ? recv(1, 5)
                       : rank == 1 ? send(0, 6)
                                   : void(); }},
    {"wrong_comm",  // there are three of another tag, and one on another communicator
     [] {
       MPI_Comm other_world;
       MPI_Comm_dup(world, &other_world);
       if (rank == 1) {
         for (int i = 0; i < 3; ++i) send(0, 6);
         MPI_Send(&value, 1, MPI_INT, 0, 5, other_world);
       }
       if (rank == 0) recv(1, 5);
     }},
    {"wrong_source",  // the sender is not the one that is waited for
     [] { rank == 0   ? recv(1, 5)
          : rank == 2 ? send(0, 5)
                      : void(); }},
    {"itself",
     [] {
       if (rank == 0) recv(0);
     }},
    {"ssend_to_itself",
     [] {
       if (rank == 0) ssend(0);
     }},
    {"files",  // collective calls on two files, in different order
     [] {
       MPI_File first = file(), second = file();
       if (rank == 0) std::swap(first, second);
       MPI_File_write_at_all(first, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
       MPI_File_write_at_all(second, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
     }},
    {"file_request",  // the others wait for a message before their part of it
     [] {
       MPI_File all = file();
       MPI_Request request = MPI_REQUEST_NULL;
       if (rank > 0) recv(0);
       MPI_File_iwrite_at_all(all, 0, &value, 1, MPI_INT, &request);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"file_close",  // a blocking call, behind a nonblocking one in which the others take no part
     [] {
       MPI_File all = file();
       MPI_Request request = MPI_REQUEST_NULL;
       if (rank > 0) recv(0);
       MPI_File_iwrite_at_all(all, 0, &value, 1, MPI_INT, &request);
       MPI_File_sync(all);
     }},
    {"window_wait",  // its origin never completes
     [] {
       MPI_Win win = window();
       if (rank == 0) {
         MPI_Win_post(group_of(1), 0, win);
         MPI_Win_wait(win);
       } else if (rank == 1) {
         MPI_Win_start(group_of(0), 0, win);
         MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
         recv(0);
       }
     }},
    {"window_start",  // its target never posts
     [] {
       MPI_Win win = window();
       if (rank == 0) MPI_Win_start(group_of(1), 0, win);
       if (rank == 1) recv(0);
     }},
    {"window_lock",  // whoever holds it waits for the one that wants it
     [] {
       MPI_Win win = window();
       const int last = size - 1;
       if (rank == 1) hold(last, win);
       MPI_Barrier(world);
       if (rank == 0) lock_and_unlock(MPI_LOCK_SHARED, last, win);
       if (rank > 0) recv(rank == 1 ? 0 : 1);
     }},
    {"window_lock_all",  // the same, where the lock is asked for by the operation
     [] {
       MPI_Win win = window();
       const int last = size - 1;
       if (rank == 1) hold(last, win);
       MPI_Barrier(world);
       if (rank == 0) {
         MPI_Win_lock_all(0, win);
         MPI_Put(&rank, 1, MPI_INT, last, 0, 1, MPI_INT, win);
         MPI_Win_unlock_all(win);
       }
       if (rank > 0) recv(rank == 1 ? 0 : 1);
     }},
    {"window_lock_alone",  // who wants it alone waits for one who holds all of the node's as one
     [] {
       MPI_Win win = allocated_window();
       if (rank == 1) MPI_Win_lock_all(0, win);
       MPI_Barrier(world);
       if (rank == 0) lock_and_unlock(MPI_LOCK_EXCLUSIVE, size - 1, win);
       if (rank > 0) recv(rank == 1 ? 0 : 1);
     }},
    {"window_locks",  // each holds what the other wants
     [] {
       MPI_Win win = window();
       if (rank < 2) hold(rank, win);
       MPI_Barrier(world);
       if (rank < 2) lock_and_unlock(MPI_LOCK_EXCLUSIVE, 1 - rank, win);
     }},
    {"window_sharers", [] { share_behind_one_alone([] { recv(0); }); }},
    {"window_lock_of_own",  // and so does the one whose memory it is
     [] {
       MPI_Win win = window();
       if (rank == 0) hold(1, win);
       MPI_Barrier(world);
       if (rank > 0) lock_and_unlock(MPI_LOCK_EXCLUSIVE, 1, win);
       MPI_Barrier(world);
     }},
    {"window_fence",
     [] {
       MPI_Win win = window();
       rank == 0 ? recv(1) : void(MPI_Win_fence(0, win));
     }},
    {"any_source", [] { recv(rank == 0 ? MPI_ANY_SOURCE : 0); }},
    {"probe", [] { MPI_Probe(rank ^ 1, 3, world, MPI_STATUS_IGNORE); }},
    {"wait",
     [] {
       MPI_Request r = irecv(rank ^ 1, 9);
       MPI_Wait(&r, MPI_STATUS_IGNORE);
     }},
    {"waitall",
     [] {
       if (rank > 1) return;
       MPI_Request r[] = {irecv(1 - rank, 1), irecv(1 - rank, 2)};
       send(1 - rank, 1);
       MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
     }},
    {"waitany",
     [] {
       MPI_Request r[] = {irecv((rank + 1) % size), irecv((rank + 2) % size)};
       int index;
       MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE);
     }},
    {"waitsome",
     [] {
       MPI_Request r[] = {issend((rank + 1) % size), irecv((rank + 1) % size)};
       int count, indices[2];
       MPI_Waitsome(2, r, &count, indices, MPI_STATUSES_IGNORE);
     }},
    {"sendrecv",
     [] {
       MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 1, &other, 1, MPI_INT, (rank + 1) % size, 2, world,
                    MPI_STATUS_IGNORE);
     }},
    {"three_bcasts",
     [] {
       auto comms = triangle();
       // Each is the root of its own and a receiver in its predecessor's.
       MPI_Comm mine = comms[static_cast<size_t>(rank)], theirs = comms[static_cast<size_t>((rank + 2) % 3)];
       bcast(theirs, 0);
       bcast(mine, 0);
     }},
    {"bcast_against_recv",
     [] {
       if (rank == 0) {
         recv(1);
         bcast(world, 0);
       } else {
         bcast(world, 0);
         if (rank == 1) send(0);
       }
     }},
    // The root runs ahead of those that take its data, until there is no slot for more.
    {"slots",
     [] {
       if (rank == 1) recv(0);
       for (int i = 0; i < 300; ++i) MPI_Bcast(large.data(), 1 << 16, MPI_CHAR, 0, world);
       if (rank == 0) send(1);
     }},
    {"slots_of_many",
     [] {
       if (rank == 1) recv(0);
       many_ibcasts();
       if (rank == 0) send(1);
     }},
    {"barrier_against_recv",
     [] {
       if (rank == size - 1) recv(0);
       MPI_Barrier(world);
       if (rank == 0) send(size - 1);
     }},
    {"ibarrier_against_recv",
     [] {
       MPI_Request r;
       if (rank == size - 1) recv(0);
       MPI_Ibarrier(world, &r);
       MPI_Wait(&r, MPI_STATUS_IGNORE);
       if (rank == 0) send(size - 1);
     }},
    // More starts than its ledger remembers, before the one that the last rank does not make.
    {"persistent_against_recv",
     [] {
       MPI_Request r;
       MPI_Barrier_init(world, MPI_INFO_NULL, &r);
       for (int start = 0; start < 10; ++start) {
         MPI_Start(&r);
         MPI_Wait(&r, MPI_STATUS_IGNORE);
       }
       if (rank == size - 1) recv(0);
       MPI_Start(&r);
       MPI_Wait(&r, MPI_STATUS_IGNORE);
       if (rank == 0) send(size - 1);
       MPI_Request_free(&r);
     }},
    {"threads",
     [] {
       auto stuck = [](int tag) {
         int place;
         MPI_Recv(&place, 1, MPI_INT, rank ^ 1, tag, world, MPI_STATUS_IGNORE);
       };
       std::thread one(stuck, 1), two(stuck, 2);
       one.join();
       two.join();
     }},
    // ---- right, and long
    {"slow_window",  // holders, origins and targets that compute
     [] {
       MPI_Win win = window();
       for (const int type : {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED}) {
         if (rank == 0) MPI_Win_lock(type, size - 1, 0, win);
         MPI_Barrier(world);
         if (rank == 0) compute(kLong);
         if (rank > 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
         MPI_Win_unlock(size - 1, win);
         MPI_Barrier(world);
       }
       if (rank == 0) MPI_Win_post(group_of(1), 0, win);
       if (rank == 1) {
         compute(kLong);
         MPI_Win_start(group_of(0), 0, win);
         MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
         compute(kLong);
         MPI_Win_complete(win);
       }
       if (rank == 0) MPI_Win_wait(win);
       MPI_Win_free(&win);
     }},
    {"slow_lock",  // a queue for a lock, each of whose holders waits for a message before it gives it up
     [] {
       MPI_Win win = window();
       if (rank == 0) {
         for (int i = 1; i < size; ++i) {
           compute(kLong / 2);
           send(i);
         }
       } else {
         MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
         recv(0);
         MPI_Win_unlock(0, win);
       }
       MPI_Win_free(&win);
     }},
    {"slow_sharers",  // who shares a lock does not wait for others who are to share it
     [] { share_behind_one_alone([] { compute(kLong); }); }},
    {"slow_files",  // nonblocking ones in different order, long after each other
     [] {
       MPI_File files[] = {file(), file()};
       MPI_Request requests[2];
       for (int i = 0; i < 2; ++i) {
         if (rank > 0) sleep(1);
         MPI_File_iwrite_at_all(files[(i + rank) % 2], 0, &value, 1, MPI_INT, &requests[i]);
       }
       MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
       for (MPI_File& each : files) MPI_File_close(&each);
     }},
    {"slow_sender",
     [] {
       if (rank == 0) compute(kLong);
       if (rank > 0) recv(rank - 1);
       if (rank < size - 1) ssend(rank + 1);
       MPI_Barrier(world);
     }},
    {"slow_root",
     [] {
       if (rank == size - 1) compute(kLong);
       bcast(world, size - 1);
       MPI_Barrier(world);
     }},
    {"slow_slots",
     [] {
       if (rank == 1) compute(kLong);
       for (int i = 0; i < 300; ++i) MPI_Bcast(large.data(), 1 << 16, MPI_CHAR, 0, world);
       if (rank == 1) compute(kLong);
       many_ibcasts();
     }},
    {"slow_any",
     [] {
       if (rank == 0)
         for (int i = 1; i < size; ++i) recv(MPI_ANY_SOURCE);
       else if (rank == size - 1)
         compute(kLong), send(0);
       else
         send(0), recv(size - 1, 2);
       if (rank == size - 1)
         for (int i = 1; i < size - 1; ++i) send(i, 2);
     }},
    // Nobody is connected but by that one message.
    {"slow_any_one",
     [] {
       if (rank == 0) return recv(MPI_ANY_SOURCE);
       compute(kLong);
       if (rank == 1) send(0);
     }},
    {"slow_finalize",
     [] {
       if (rank == 0) compute(kLong);
     }},
    {"slow_ibcast",
     [] {  // 0 receives from the last, who waits for what 0 may pass on
       MPI_Request r;
       if (rank == 1) compute(kLong);
       MPI_Ibcast(large.data(), 1 << 20, MPI_CHAR, 1, world, &r);
       if (rank == 0) recv(size - 1);
       MPI_Wait(&r, MPI_STATUS_IGNORE);
       if (rank == size - 1) send(0);
     }},
    {"slow_polling",
     [] {
       MPI_Request r = MPI_REQUEST_NULL;
       int flag = rank != 0;
       if (rank == 0) r = irecv(size - 1);
       if (rank == size - 1) compute(kLong), send(0);
       while (!flag) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
       MPI_Barrier(world);
     }},
    {"slow_thread",
     [] {
       std::thread worker([] {
         compute(kLong);
         send(rank ^ 1);
       });
       recv(rank ^ 1);
       worker.join();
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const auto at = cases.find(name);
  if (at == cases.end()) {
    for (const auto& [each, body] : cases) std::printf("%s\n", each.c_str());
    return 2;
  }
  int provided;
  const bool threads = name.find("thread") != name.npos;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  at->second();
  MPI_Finalize();
  if (rank == 0) std::printf("through\n");
}
