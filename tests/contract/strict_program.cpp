// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict has something to say about, and what it must not: argv[1] names one case, a line
// "LINE name" the place that is told. strict.py knows what each is to be told. They use the MPI
// interface alone.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "strict_cases.hpp"

namespace strict {

void send(int to, int tag) {
  MPI_Send(&value, 1, MPI_INT, to, tag, world);  // LINE send
}
void recv(int from, int tag) {
  MPI_Recv(into, 1, MPI_INT, from, tag, world, MPI_STATUS_IGNORE);  // LINE recv
}

namespace {

void add_up(void*, void*, int*, MPI_Datatype*) {}

const MPI_Op all_ops[] = {MPI_MIN, MPI_MAX,  MPI_SUM,  MPI_PROD, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
void reduce(MPI_Datatype type, MPI_Op op) {
  static char mine[16], all[16];
  MPI_Allreduce(mine, all, 1, type, op, world);  // LINE reduce
}

int level_of(const std::string& name) {
  if (name.rfind("single_", 0) == 0) return MPI_THREAD_SINGLE;
  if (name.rfind("funneled_", 0) == 0) return MPI_THREAD_FUNNELED;
  if (name.rfind("serialized_", 0) == 0) return MPI_THREAD_SERIALIZED;
  return window_cases().contains(name) ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
}

// clang-format off
const Cases own_cases{
    // ---- left over
    {"left_request",
     [] {
       MPI_Request request;
       MPI_Irecv(into, 1, MPI_INT, (rank + 1) % size, 99, world, &request);  // LINE left_request
     }},
    {"left_send",
     [] {
       MPI_Request request;
       if (rank == 0) MPI_Isend(&value, 1, MPI_INT, 1, 1, world, &request);  // LINE left_send
       if (rank == 1) recv(0);
     }},
    {"left_persistent",  // one of two is active
     [] {
       static MPI_Request requests[2];
       for (MPI_Request& each : requests)
         MPI_Recv_init(into, 1, MPI_INT, MPI_PROC_NULL, 1, world, &each);  // LINE left_persistent
       MPI_Start(&requests[0]);
       MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
     }},
    {"left_collective",
     [] {
       MPI_Request request;
       MPI_Ibarrier(world, &request);  // LINE left_collective
       MPI_Barrier(MPI_COMM_SELF);
     }},
    {"left_messages",
     [] {
       for (int i = 0; i < 3; ++i)
         if (rank == 1) send(0, 7);
       if (rank == 0) recv(1, 7);
     }},
    {"left_probed",
     [] {
       MPI_Message message;
       if (rank == 1) send(0);
       if (rank == 0) MPI_Mprobe(1, 1, world, &message, MPI_STATUS_IGNORE);  // LINE left_probed
     }},
    // MPI ends in any case, after the callbacks of all others.
    {"failing_delete",
     [] {
       static bool called = false;
       const auto attach = [](MPI_Comm_delete_attr_function* callback) {
         int key;
         MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &key, nullptr);
         MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
         MPI_Comm_free_keyval(&key);
       };
       attach([](MPI_Comm, int, void*, void*) -> int {
         called = true;
         return MPI_SUCCESS;
       });
       attach([](MPI_Comm, int, void*, void*) -> int { return MPI_ERR_OTHER; });
       std::atexit([] {
         if (!called) std::_Exit(9);
       });
     }},
    {"left_comm",
     [] {
       MPI_Comm comm;
       MPI_Comm_dup(world, &comm);  // LINE left_comm
     }},
    {"left_comms",
     [] {
       MPI_Comm comm;
       for (int i = 0; i < 3; ++i) MPI_Comm_dup(world, &comm);  // LINE left_comms
       MPI_Comm_split(world, rank, 0, &comm);                   // LINE left_comms_split
     }},
    {"left_type",
     [] {
       MPI_Datatype type;
       MPI_Type_contiguous(3, MPI_INT, &type);  // LINE left_type
     }},
    {"left_op",
     [] {
       MPI_Op op;
       if (rank == 1) MPI_Op_create(add_up, 1, &op);  // LINE left_op
     }},
    {"left_group",
     [] {
       MPI_Group group;
       MPI_Comm_group(world, &group);  // LINE left_group
     }},
    {"left_window",
     [] {
       MPI_Win win;
       MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, world, &win);  // LINE left_window
     }},
    {"left_file",
     [] {
       MPI_File file;
       MPI_File_open(world, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);  // LINE left_file
     }},
    {"left_much",
     [] {
       MPI_Group group;
       MPI_Datatype type;
       MPI_Comm_group(world, &group);
       MPI_Type_contiguous(3, MPI_INT, &type);
       if (rank == 1) send(0, 5);
     }},
    // ---- races: whichever comes first
    {"race",
     [] {
       if (rank > 0) send(0);
       for (int i = 1; rank == 0 && i < size; ++i)
         MPI_Recv(into, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);  // LINE race
     }},
    {"race_any_tag",
     [] {
       if (rank > 0) send(0, rank);
       for (int i = 1; rank == 0 && i < size; ++i)
         MPI_Recv(into, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);  // LINE race_any_tag
     }},
    {"race_once",  // all messages are there when it looks
     [] {
       if (rank > 0) send(0);
       MPI_Barrier(world);
       MPI_Request request;
       if (rank != 0) return;
       MPI_Irecv(into, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &request);  // LINE race_once
       MPI_Wait(&request, MPI_STATUS_IGNORE);
       for (int i = 2; i < size; ++i)
         MPI_Recv(into, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);
     }},
    {"race_probe",
     [] {
       if (rank > 0) send(0);
       MPI_Barrier(world);
       MPI_Status status;
       for (int i = 1; rank == 0 && i < size; ++i) {
         MPI_Probe(MPI_ANY_SOURCE, 1, world, &status);  // LINE race_probe
         recv(status.MPI_SOURCE);
       }
     }},
    {"race_iprobe",  // a call that the flight record does not keep
     [] {
       if (rank > 0) send(0);
       MPI_Barrier(world);
       MPI_Status status;
       for (int i = 1, there = 0; rank == 0 && i < size; there = 0, ++i) {
         while (!there)
           MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &there, &status);  // LINE race_iprobe
         recv(status.MPI_SOURCE);
       }
     }},
    {"race_takes_the_other",  // the first receive may take what the second one wants
     [] {
       if (rank > 0) send(0);
       if (rank != 0) return;
       MPI_Recv(into, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, MPI_STATUS_IGNORE);  // LINE race_takes_the_other
       recv(into[0] == value && size == 3 ? MPI_ANY_SOURCE : 1);
     }},
    {"race_posted",  // before any message is there
     [] {
       MPI_Request all[8];
       for (int i = 0; rank == 0 && i < size - 1; ++i)
         MPI_Irecv(into + i, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, all + i);  // LINE race_posted
       MPI_Barrier(world);
       if (rank > 0) send(0);
       if (rank == 0) MPI_Waitall(size - 1, all, MPI_STATUSES_IGNORE);
     }},
    // ---- sent as ready before a receive is posted
    {"unready",
     [] {
       if (rank == 0) MPI_Rsend(&value, 1, MPI_INT, 1, 1, world), send(1, 2);
       if (rank == 1) recv(0, 2);
       if (rank == 1) MPI_Recv(into, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);  // LINE unready
     }},
    {"unready_any",
     [] {
       MPI_Request request;
       if (rank == 0) MPI_Irsend(&value, 1, MPI_INT, 1, 1, world, &request), send(1, 2);
       if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
       if (rank == 1) recv(0, 2);
       if (rank == 1) MPI_Irecv(into, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &request);  // LINE unready_any
       if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    // ---- a window is locked where it may be exposed by a fence
    {"lock_between_fences",
     [] {
       MPI_Win window;
       MPI_Win_create(into, sizeof into, sizeof(int), MPI_INFO_NULL, world, &window);
       MPI_Win_fence(0, window);
       for (int i = 0; rank == 0 && i < 2; ++i) {
         MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);  // LINE lock_between_fences
         MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
         MPI_Win_unlock(1, window);
       }
       MPI_Win_fence(0, window);
       MPI_Win_free(&window);
     }},
    // ---- right: silent
    {"locks_apart_from_fences",  // the one before says that nothing follows, or the one behind that nothing went before
     [] {
       MPI_Win window;
       MPI_Win_create(into, sizeof into, sizeof(int), MPI_INFO_NULL, world, &window);
       for (const bool before : {true, false}) {
         MPI_Win_fence(before ? MPI_MODE_NOSUCCEED : 0, window);
         MPI_Win_lock_all(0, window);
         if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
         MPI_Win_unlock_all(window);
         MPI_Win_fence(before ? 0 : MPI_MODE_NOPRECEDE, window);
       }
       MPI_Win_lock_all(0, window);
       MPI_Win_unlock_all(window);
       MPI_Win_free(&window);
     }},
    {"ready",
     [] {
       MPI_Request request;
       if (rank == 1) MPI_Irecv(two, 1, MPI_INT, 0, 1, world, &request), send(0, 2);
       if (rank == 0) recv(1, 2), MPI_Rsend(&value, 1, MPI_INT, 1, 1, world), send(1, 3), send(1, 1);
       if (rank == 1) recv(0, 3), recv(0, 1), MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"posted_apart",  // by tag, or for one sender: the first one's is the first receive's
     [] {
       MPI_Request requests[3];
       if (rank == 0) {
         MPI_Irecv(into, 1, MPI_INT, 2, 1, world, &requests[0]);
         MPI_Irecv(into + 1, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &requests[1]);
         MPI_Irecv(into + 2, 1, MPI_INT, MPI_ANY_SOURCE, 2, world, &requests[2]);
       }
       MPI_Barrier(world);
       if (rank == 1) send(0, 1);
       if (rank == 2) send(0, 1);
       if (rank == 2) send(0, 2);
       if (rank == 0) MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
     }},
    {"posted_in_turn",  // the second is sent when the first is known to be received
     [] {
       MPI_Request requests[2];
       for (int i = 0; rank == 0 && i < 2; ++i)
         MPI_Irecv(into + i, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &requests[i]);
       if (rank == 1) send(0);
       if (rank == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
       MPI_Barrier(world);
       if (rank == 2) send(0);
       if (rank == 0) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
     }},
    {"clean",
     [] {
       MPI_Comm comm;
       MPI_Datatype part, whole;
       MPI_Op op;
       MPI_Group group;
       MPI_Request request;
       MPI_Comm_dup(world, &comm);
       MPI_Type_contiguous(3, MPI_INT, &part);
       MPI_Type_contiguous(3, part, &whole);
       MPI_Type_commit(&whole);
       MPI_Type_free(&part);
       MPI_Op_create(add_up, 1, &op);
       MPI_Comm_group(comm, &group);
       MPI_Irecv(into, 1, whole, (rank + size - 1) % size, 1, comm, &request);
       MPI_Ssend(into + 32, 1, whole, (rank + 1) % size, 1, size == 1 ? MPI_COMM_NULL : comm);
       MPI_Comm_free(&comm);  // under way still
       MPI_Wait(&request, MPI_STATUS_IGNORE);
       MPI_Allreduce(into, into + 32, 1, MPI_INT, op, world);
       MPI_Op_free(&op);
       MPI_Type_free(&whole);
       MPI_Group_free(&group);
     }},
    {"freed_request",  // nobody waits for it, and nobody need
     [] {
       MPI_Request request;
       if (rank == 0) {
         MPI_Isend(&value, 1, MPI_INT, 1, 1, world, &request);
         MPI_Request_free(&request);
       }
       if (rank == 1) recv(0);
     }},
    {"cancelled",
     [] {
       MPI_Request request;
       MPI_Irecv(into, 1, MPI_INT, 0, 77, world, &request);
       MPI_Cancel(&request);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"one_sender",
     [] {
       for (int i = 0; i < 5; ++i) {
         if (rank == 1) send(0);
         if (rank == 0) recv(MPI_ANY_SOURCE);
       }
     }},
    {"other_tags",
     [] {
       if (rank > 0) send(0, rank);
       for (int i = 1; rank == 0 && i < size; ++i) recv(MPI_ANY_SOURCE, i);
     }},
    {"in_turn",  // each sends when the one before was received
     [] {
       for (int i = 1; i < size; ++i) {
         if (rank == 0 && i > 1) send(i, 2);
         if (rank == i && i > 1) recv(0, 2);
         if (rank == i) send(0);
         if (rank == 0) recv(MPI_ANY_SOURCE);
       }
     }},
    {"in_turn_by_barriers",
     [] {
       for (int i = 1; i < size; ++i) {
         if (rank == i) send(0);
         if (rank == 0) recv(MPI_ANY_SOURCE);
         MPI_Barrier(world);
       }
     }},
    {"in_turn_by_ssend",  // the receive itself lets the first sender tell the second
     [] {
       if (rank == 1) {
         MPI_Ssend(&value, 1, MPI_INT, 0, 1, world);
         send(2, 2);
       }
       if (rank == 2) recv(1, 2), send(0);
       for (int i = 0; rank == 0 && i < 2; ++i) recv(MPI_ANY_SOURCE);
     }},
    // ---- an error of a request that nobody can hear of any more, whatever the error handler
    {"freed_receive",
     [] {
       MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
       MPI_Request request;
       MPI_Irecv(into, 1, MPI_INT, (rank + 1) % size, 1, world, &request);  // LINE freed_receive
       MPI_Request_free(&request);
       MPI_Barrier(world);
       if (rank == 1) MPI_Send(two, 2, MPI_INT, 0, 1, world);
       MPI_Barrier(world);
     }},
    // Found in the midst of a pass of the engine, where nobody can be asked which call has sent it.
    {"freed_of_other_type",
     [] {
       MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
       MPI_Request request;
       MPI_Irecv(into, 1, MPI_INT, (rank + 1) % size, 1, world, &request);
       MPI_Request_free(&request);
       MPI_Barrier(world);
       const float one = 1;
       if (rank == 1) MPI_Send(&one, 1, MPI_FLOAT, 0, 1, world);
       MPI_Barrier(world);
     }},
    {"freed_pair_of_other_type",
     [] {
       MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
       MPI_Request request;
       MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 2, into, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
       MPI_Request_free(&request);
       const float one = 1;
       MPI_Send(&one, 1, MPI_FLOAT, 0, 1, MPI_COMM_SELF);
     }},
    {"freed_persistent",
     [] {
       MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
       MPI_Request request;
       MPI_Recv_init(into, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
       MPI_Start(&request);
       MPI_Request_free(&request);
       MPI_Send(two, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
     }},
    {"freed_pair",
     [] {
       MPI_Request request;
       MPI_Isendrecv(&value, 1, MPI_INT, 0, 2, into, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
       MPI_Request_free(&request);
       MPI_Send(two, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
     }},
    {"freed_after_it_failed",
     [] {
       MPI_Request request;
       MPI_Irecv(into, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
       MPI_Send(two, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
       MPI_Request_free(&request);
     }},
    {"freed_get",
     [] {
       MPI_Win window;
       MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &window);
       MPI_Win_lock_all(0, window);
       MPI_Request request;
       MPI_Rget(into, 1, MPI_INT, 0, 4096, 1, MPI_INT, window, &request);  // nothing is attached
       MPI_Request_free(&request);
       MPI_Win_unlock_all(window);
     }},
    // ---- what other MPIs carry out: warned of once, however often it is done
    {"tolerated_bytes",
     [] {
       static unsigned char bytes[16];
       static unsigned words[4];
       for (int i = 0; i < 3; ++i) {
         if (rank == 1) MPI_Send(bytes, 16, MPI_UNSIGNED_CHAR, 0, 7, world);  // LINE tolerated_send
         if (rank == 0) MPI_Recv(words, 4, MPI_UNSIGNED, 1, 7, world, MPI_STATUS_IGNORE);  // LINE tolerated_bytes
       }
     }},
    {"tolerated_put",
     [] {
       MPI_Win window;
       static char memory[16];
       MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, world, &window);
       MPI_Win_fence(0, window);
       if (rank == 0) MPI_Put("abcd", 4, MPI_CHAR, 1, 0, 1, MPI_INT, window);  // LINE tolerated_put
       MPI_Win_fence(0, window);
       if (rank == 0) MPI_Put("abcd", 4, MPI_CHAR, 1, 8, 1, MPI_INT, window);
       MPI_Win_fence(0, window);
       MPI_Win_free(&window);
     }},
    {"tolerated_edge",
     [] {
       const int next = (rank + 1) % size;
       for (int i = 0; i < 2; ++i) {
         MPI_Comm graph;
         MPI_Dist_graph_create_adjacent(world, 0, &next, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                        &graph);
         MPI_Comm_free(&graph);
       }
     }},
    {"tolerated_operation",
     [] {
       double none = 0;
       if (rank == 0) MPI_Reduce_local(&none, &value, 0, MPI_DOUBLE, MPI_BAND);
       if (rank == 0) MPI_Reduce_local(&none, &value, 0, MPI_FLOAT, MPI_BOR);
     }},
    {"tolerated_swap",
     [] {
       MPI_Win window;
       char *memory = nullptr, was = 0, now = 'x', old = 1;
       MPI_Win_allocate(1, 1, MPI_INFO_NULL, world, &memory, &window);
       *memory = 0;
       MPI_Win_fence(0, window);
       if (rank == 0) MPI_Compare_and_swap(&now, &was, &old, MPI_CHAR, 1, 0, window);  // LINE tolerated_swap
       MPI_Win_fence(0, window);
       if (rank == 0 && old != 0) MPI_Abort(world, 86);
       if (rank == 1 && *memory != 'x') MPI_Abort(world, 86);
       MPI_Win_fence(0, window);
       if (rank == 0) MPI_Compare_and_swap(&was, &now, &old, MPI_CHAR, 1, 0, window);
       MPI_Win_fence(0, window);
       MPI_Win_free(&window);
     }},
    // ---- reductions that the standard does not define
    {"undefined_char",
     [] {
       char mine = 1, all;
       for (int i = 0; i < 40; ++i)
         MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_SUM, world);  // LINE undefined_char
       MPI_Reduce(&mine, &all, 1, MPI_CHAR, MPI_SUM, 0, world);
     }},
    // No communicator is in it, and the calls before it are not to blame.
    {"undefined_local",
     [] {
       char mine = 1, all = 2;
       MPI_Datatype type;
       MPI_Type_contiguous(2, MPI_CHAR, &type);
       MPI_Type_free(&type);
       MPI_Reduce_local(&mine, &all, 1, MPI_CHAR, MPI_SUM);  // LINE undefined_local
     }},
    // Every pair that is computed beyond what the standard defines, and the others of the same operations and types.
    {"undefined_characters", [] { for (MPI_Op op : all_ops) reduce(MPI_CHAR, op); }},
    {"undefined_fortran_characters", [] { for (MPI_Op op : all_ops) reduce(MPI_CHARACTER, op); }},
    {"undefined_truths",
     [] {
       for (MPI_Datatype type : {MPI_AINT, MPI_COUNT, MPI_OFFSET})
         for (MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) reduce(type, op);
     }},
    {"defined",
     [] {
       for (MPI_Datatype type : {MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_INT8_T, MPI_INT, MPI_UINT64_T})
         for (MPI_Op op : all_ops) reduce(type, op);
       for (MPI_Datatype type : {MPI_AINT, MPI_COUNT, MPI_OFFSET})
         for (MPI_Op op : {MPI_MIN, MPI_MAX, MPI_SUM, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR}) reduce(type, op);
       for (MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR}) reduce(MPI_BYTE, op);
       for (MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) reduce(MPI_C_BOOL, op);
       for (MPI_Op op : {MPI_MIN, MPI_MAX, MPI_SUM, MPI_PROD}) reduce(MPI_DOUBLE, op);
     }},
    // ---- only reported
    {"op",
     [] {
       MPI_Allreduce(&value, into, 1, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, world);  // LINE op
     }},
    {"deadlock", [] { recv((rank + 1) % size, 4); }},
    {"overlap",
     [] {
       MPI_Request request[2];
       MPI_Irecv(into, 4, MPI_INT, rank, 1, world, &request[0]);      // LINE overlap_first
       MPI_Irecv(into + 2, 4, MPI_INT, rank, 2, world, &request[1]);  // LINE overlap
       MPI_Send(into + 32, 4, MPI_INT, rank, 1, world);
       MPI_Send(into + 32, 4, MPI_INT, rank, 2, world);
       MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
     }},
};
// clang-format on

}  // namespace
}  // namespace strict

int main(int argc, char** argv) {
  using namespace strict;
  const std::string name = argc > 1 ? argv[1] : "";
  int provided;
  MPI_Init_thread(&argc, &argv, level_of(name), &provided);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  Cases cases = own_cases;
  cases.merge(thread_cases());
  cases.merge(file_cases());
  cases.merge(window_cases());
  const auto at = cases.find(name);
  if (at == cases.end()) {
    std::fprintf(stderr, "no case %s\n", name.c_str());
    MPI_Abort(world, 3);
  }
  at->second();
  MPI_Finalize();
  if (rank == 0) std::puts("through");
  return 0;
}
