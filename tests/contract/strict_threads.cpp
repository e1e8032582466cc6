// SPDX-License-Identifier: BSD-3-Clause
// Cases of strict_program with several threads: inside collectives, at one request, and beyond what the thread level of
// MPI_Init_thread or of a session allows. A case whose name begins with a level runs with that one.
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "strict_cases.hpp"

namespace strict {
namespace {

template <class Calls>
void in_another_thread(Calls calls) {
  std::thread(calls).join();
}
void send_to_myself() {
  MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF);  // LINE send_to_myself
}
void recv_from_myself() {
  MPI_Recv(into, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

// Two threads of rank 0 complete one receive, whose message comes when both are likely to be at it. Rank 1
// knows no end of that but the job's.
void at_one_request(void (*complete)(MPI_Request*)) {
  if (rank != 0) {
    recv(0);
    recv(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    send(0, 2);
    return;
  }
  MPI_Request request;
  MPI_Irecv(into, 1, MPI_INT, 1, 2, world, &request);
  const auto calls = [&] {
    send(1);
    complete(&request);
  };
  std::thread other(calls);
  calls();
  other.join();
}

// Two threads do whatever they like to one request, which is wrong: errors are returned, nothing crashes or
// hangs. At least one of both completes it.
void two_at_random() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const auto act = [](int what, MPI_Request* shared) {
    MPI_Request request = *shared;
    int flag = 0;
    switch (what) {
      case 0:
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
      case 1:
        while (!flag && MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        }
        return;
        // clang-format off
      case 2: MPI_Request_free(&request); return;
      case 3: MPI_Cancel(&request); return;
      case 4: MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE); return;
      case 5: MPI_Start(&request); return;
      default: MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); return;
        // clang-format on
    }
  };
  std::atomic<int> round{-1}, done{0};
  constexpr int kRounds = 420;  // both threads may share a core
  MPI_Request request = MPI_REQUEST_NULL;
  const auto send_in = [](int i) { MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_SELF); };
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      while (round < i) std::this_thread::yield();
      if (i % 3 == 0) send_in(i);
      act(i / 2 % 7, &request);
      ++done;
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    // A persistent request in every second pair of rounds; either thread may send the message.
    MPI_Request made;
    if (i / 2 % 2) {
      MPI_Recv_init(into, 1, MPI_INT, 0, i, MPI_COMM_SELF, &made);
      MPI_Start(&made);
    } else {
      MPI_Irecv(into, 1, MPI_INT, 0, i, MPI_COMM_SELF, &made);
    }
    request = made;
    round = i;
    if (i % 3) send_in(i);
    act(i % 2, &made);
    while (done <= i) std::this_thread::yield();
    int left = 0;  // where the request was cancelled in time
    MPI_Iprobe(0, i, MPI_COMM_SELF, &left, MPI_STATUS_IGNORE);
    if (left) MPI_Recv(into, 1, MPI_INT, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
  other.join();
}

// What any thread may call at any time (the standard, section 11.6.1), and what does not communicate.
void ignores(MPI_Comm*, int*, ...) {}
// The other thread is to be inside its receive by then; one that is late makes the case right, and its test fail.
template <class Calls>
void while_another_receives(Calls calls) {
  std::atomic<bool> comes{false};
  std::thread other([&] {
    comes = true;
    recv(rank, 3);
  });
  while (!comes) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  calls();
  other.join();
}
void at_any_time() {
  in_another_thread([] {
    int flag, number, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
    MPI_Query_thread(&number);
    MPI_Is_thread_main(&flag);
    MPI_Get_version(&number, &length);
    MPI_Get_library_version(text, &length);
    MPI_Error_class(MPI_ERR_ARG, &number);
    MPI_Error_string(MPI_ERR_ARG, text, &length);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&info);
    MPI_Wtime();
    MPI_Wtick();
    MPI_Pcontrol(1);
    MPI_Aint address;
    MPI_Get_address(&flag, &address);
    MPI_Add_error_class(&number);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(ignores, &handler);
    MPI_Errhandler_free(&handler);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &number);
    MPI_T_cvar_get_num(&number);
    MPI_T_finalize();
  });
}

// Of this thread level; nullptr: without one.
MPI_Session begin_session(const char* level) {
  MPI_Info info = MPI_INFO_NULL;
  if (level) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
  }
  MPI_Session made;
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &made);
  if (level) MPI_Info_free(&info);
  return made;
}
// A message to itself on a communicator of the session's.
void use(MPI_Session session) {
  MPI_Group group;
  MPI_Comm comm;
  int mine;
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "use", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);  // LINE use
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &mine);
  MPI_Sendrecv(&value, 1, MPI_INT, mine, 1, into + 8, 1, MPI_INT, mine, 1, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}
void ask() {
  int mine;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);  // LINE ask
}

}  // namespace

Cases thread_cases() {
  // clang-format off
  return {
    // ---- threads inside collectives
    {"two_threads",
     [] {
       if (rank != 0) return recv(0, 5);  // does not come before the job ends
       std::thread other([] { MPI_Barrier(world); });  // LINE two_threads
       std::this_thread::sleep_for(std::chrono::milliseconds(20));
       MPI_Bcast(into, 1, MPI_INT, 0, world);
       other.join();
     }},
    {"two_threads_nonblocking",
     [] {
       if (rank != 0) return recv(0, 5);
       std::atomic<bool> through{false};
       std::thread other([&] {
         MPI_Barrier(world);  // LINE two_threads_nonblocking
         through = true;
       });
       while (!through) {  // it comes into the barrier at some time
         MPI_Request request;
         MPI_Ibarrier(world, &request);
         std::this_thread::sleep_for(std::chrono::milliseconds(10));
       }
       other.join();
     }},
    {"threads_in_turn",
     [] {
       for (int i = 0; i < 20; ++i) {
         std::thread other([] { MPI_Barrier(world); });
         other.join();
         MPI_Bcast(into, 1, MPI_INT, 0, world);
       }
     }},
    {"threads_apart",
     [] {
       MPI_Comm comm;
       MPI_Comm_dup(world, &comm);
       std::thread other([&] {
         for (int i = 0; i < 200; ++i) MPI_Barrier(comm);
       });
       for (int i = 0; i < 200; ++i) MPI_Bcast(into, 1, MPI_INT, 0, world);
       other.join();
       MPI_Comm_free(&comm);
     }},
    // ---- two threads at one request
    {"two_waits", [] { at_one_request([](MPI_Request* r) { MPI_Wait(r, MPI_STATUS_IGNORE); }); }},
    {"two_waitalls", [] { at_one_request([](MPI_Request* r) { MPI_Waitall(1, r, MPI_STATUSES_IGNORE); }); }},
    {"two_waitanys",
     [] {
       at_one_request([](MPI_Request* r) {
         int index;
         MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
       });
     }},
    {"two_waitsomes",
     [] {
       at_one_request([](MPI_Request* r) {
         int count, index;
         MPI_Waitsome(1, r, &count, &index, MPI_STATUSES_IGNORE);
       });
     }},
    {"two_tests",  // each with a copy of the handle
     [] {
       at_one_request([](MPI_Request* r) {
         MPI_Request copy = *r;
         for (int flag = 0; !flag;) MPI_Test(&copy, &flag, MPI_STATUS_IGNORE);
       });
     }},
    {"two_at_random", two_at_random},
    {"two_finalize",
     [] {
       std::thread other([] { MPI_Finalize(); });
       MPI_Finalize();
       other.join();
     }},
    // ---- threads that the level of MPI_Init_thread does not allow
    {"funneled_send", [] { in_another_thread([] { send_to_myself(); }); recv_from_myself(); }},
    {"single_send", [] { in_another_thread([] { send_to_myself(); }); recv_from_myself(); }},
    {"funneled_test",
     [] {
       MPI_Request request;
       MPI_Irecv(into, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
       in_another_thread([&] {
         int flag;
         MPI_Test(&request, &flag, MPI_STATUS_IGNORE);  // LINE funneled_test
       });
     }},
    {"serialized_two",
     [] {
       while_another_receives([] { send(rank, 3); });
     }},
    {"serialized_in_turn",
     [] {
       std::mutex turn;
       const auto calls = [&] {
         for (int i = 0; i < 5000; ++i) {
           const std::lock_guard mine(turn);
           MPI_Request request;
           int flag = 0;
           MPI_Irecv(into, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
           MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
           while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
           ask();
         }
       };
       std::thread one(calls), another(calls);
       calls();
       one.join();
       another.join();
     }},
    {"funneled_ask", [] { in_another_thread(ask); }},
    {"single_ask",
     [] {
       in_another_thread([] {
         int bytes;
         MPI_Type_size(MPI_INT, &bytes);  // LINE single_ask
       });
     }},
    {"single_attribute",
     [] {
       at_any_time();
       in_another_thread([] {
         int* most;
         int flag;
         MPI_Comm_get_attr(world, MPI_TAG_UB, &most, &flag);  // LINE single_attribute
       });
     }},
    {"serialized_ask",
     [] {
       while_another_receives([] {
         ask();
         send(rank, 3);
       });
     }},
    {"multiple_ask",
     [] {
       std::thread other([] { recv(rank, 3); });
       in_another_thread(ask);
       ask();
       send(rank, 3);
       other.join();
     }},
    // A session's level is its own; one that lets several threads call takes them out of the look.
    {"single_beside_a_session",
     [] {
       MPI_Session session = begin_session(nullptr);
       use(session);
       in_another_thread(ask);
       MPI_Session_finalize(&session);
     }},
    {"funneled_session_of_another",
     [] {
       MPI_Session session;
       in_another_thread([&] { session = begin_session("MPI_THREAD_FUNNELED"); });
       use(session);
       in_another_thread([&] { use(session); });  // not the thread that has begun it
     }},
    {"funneled_sessions",
     [] {
       MPI_Session first = begin_session(nullptr);
       in_another_thread([] {
         MPI_Session own = begin_session("MPI_THREAD_FUNNELED");
         use(own);
         MPI_Session_finalize(&own);
       });
       use(first);
       MPI_Session_finalize(&first);
     }},
    {"single_session_for_all",
     [] {
       MPI_Session session = begin_session("MPI_THREAD_MULTIPLE");
       std::thread other([&] { use(session); });
       in_another_thread(ask);
       other.join();
       MPI_Session_finalize(&session);
     }},
    {"serialized_beside_a_session",
     [] {
       MPI_Session session = begin_session(nullptr);
       std::atomic<bool> comes{false};
       std::thread other([&] {
         comes = true;
         recv(rank, 3);
       });
       while (!comes) {
       }
       use(session);
       send(rank, 3);
       other.join();
       MPI_Session_finalize(&session);
     }},
    {"funneled_at_any_time", at_any_time},
    {"single_at_any_time", at_any_time},
  };
  // clang-format on
}

}  // namespace strict
