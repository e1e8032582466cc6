// SPDX-License-Identifier: BSD-3-Clause
// Parents and their children: collectives and messages between them, and how they part.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "processes/processes.hpp"

namespace processes {
namespace {

// A collective between the parents, of whom rank 0 is the root, and their child.
int root_here() {
  return rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

int word = 1;
void ssend_and_recv(MPI_Comm other) {
  if (wrong || rank == 0) MPI_Ssend(&word, 1, MPI_INT, 0, 0, other);
  MPI_Recv(&word, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
}
void recv_and_ssend(MPI_Comm other) {
  if (wrong) return ssend_and_recv(other);
  MPI_Recv(&word, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
  MPI_Ssend(&word, 1, MPI_INT, 0, 0, other);
}
// While this one waits, another thread of the program does what the wait is for, later than anybody is asked.
void wait_for_own_thread(MPI_Comm other) {
  std::thread late([other] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    const int go = 1;
    MPI_Send(&go, 1, MPI_INT, 0, 1, other);
  });
  MPI_Recv(&word, 1, MPI_INT, 0, 2, other, MPI_STATUS_IGNORE);
  late.join();
}
[[noreturn]] void finalize() {
  MPI_Finalize();
  std::exit(0);
}
void merge(MPI_Comm other) {
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(other, 0, &merged);
  MPI_Comm_free(&merged);
}

}  // namespace

const std::map<std::string, std::function<void(MPI_Comm)>> kChildren{
    {"message_cut_off",
     [](MPI_Comm parent) {
       const int data = 5;
       MPI_Send(&data, 1, MPI_INT, 0, 7, parent);
     }},
    {"parents_bcast_child_barrier",
     [](MPI_Comm parent) {
       int data = 0;
       wrong ? MPI_Barrier(parent) : MPI_Bcast(&data, 1, MPI_INT, 0, parent);
     }},
    {"child_other_count",
     [](MPI_Comm parent) {
       int data[8];
       MPI_Bcast(data, wrong ? 2 : 4, MPI_INT, 0, parent);
     }},
    {"child_other_type",
     [](MPI_Comm parent) {
       float data[8];
       MPI_Bcast(data, 4, wrong ? MPI_FLOAT : MPI_INT, 0, parent);
     }},
    {"child_other_operation",
     [](MPI_Comm parent) {
       int in = 1, out = 0;
       MPI_Allreduce(&in, &out, 1, MPI_INT, wrong ? MPI_MAX : MPI_SUM, parent);
     }},
    {"child_other_root",
     [](MPI_Comm parent) {
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, wrong ? 1 : 0, parent);
     }},
    {"child_is_root_too",
     [](MPI_Comm parent) {
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, wrong ? MPI_ROOT : 0, parent);
     }},
    {"child_other_form",
     [](MPI_Comm parent) {
       MPI_Request request = MPI_REQUEST_NULL;
       wrong ? MPI_Ibarrier(parent, &request) : MPI_Barrier(parent);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"child_truncates",
     [](MPI_Comm parent) {
       int data[4];
       MPI_Recv(data, wrong ? 1 : 4, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
     }},
    {"child_rank_outside",
     [](MPI_Comm parent) {
       int data = 1;
       if (wrong) MPI_Send(&data, 1, MPI_INT, 7, 0, parent);
     }},
    {"both_receive",
     [](MPI_Comm parent) {
       int data = 1;
       if (!wrong) MPI_Send(&data, 1, MPI_INT, 0, 0, parent);
       MPI_Recv(&data, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
     }},
    {"child_in_barrier_of_its_own",
     [](MPI_Comm parent) {
       int data = 1;
       if (rank == 0 || !wrong) MPI_Barrier(world);
       if (rank == 1 && wrong) MPI_Recv(&data, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
     }},
    {"child_does_not_part",
     [](MPI_Comm parent) {
       if (wrong) MPI_Barrier(parent);
     }},
    {"child_aborts",
     [](MPI_Comm parent) {
       if (wrong) MPI_Abort(parent, 9);
     }},
    {"threads_ssend_both", recv_and_ssend},
    {"threads_late",
     [](MPI_Comm parent) {
       if (wrong) return recv_and_ssend(parent);
       MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
       MPI_Send(&word, 1, MPI_INT, 0, 2, parent);
     }},
    {"recv_from_finalize",
     [](MPI_Comm parent) {
       if (wrong) finalize();
       MPI_Send(&word, 1, MPI_INT, 0, 1, parent);
     }},
    {"child_recv_from_finalize", [](MPI_Comm parent) { MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE); }},
    {"merge_against_finalize",
     [](MPI_Comm parent) {
       if (wrong) finalize();
       merge(parent);
     }},
    {"child_merges_against_finalize", merge},
};

const Cases kFamilies{
    {"message_cut_off",
     [] {
       MPI_Comm child = spawn();
       int data = 0;
       if (!wrong) MPI_Recv(&data, 1, MPI_INT, 0, 7, child, MPI_STATUS_IGNORE);
       part(child);
     }},
    {"no_parent",
     [] {
       MPI_Comm parent;
       MPI_Comm_get_parent(&parent);
       if (wrong) MPI_Barrier(parent);
     }},
    {"parents_bcast_child_barrier",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_count",
     [] {
       MPI_Comm child = spawn();
       int data[8] = {};
       MPI_Bcast(data, 4, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_type",
     [] {
       MPI_Comm child = spawn();
       int data[8] = {};
       MPI_Bcast(data, 4, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_operation",
     [] {
       MPI_Comm child = spawn();
       int in = 1, out = 0;
       MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, child);
       part(child);
     }},
    {"child_other_root",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_is_root_too",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       MPI_Bcast(&data, 1, MPI_INT, root_here(), child);
       part(child);
     }},
    {"child_other_form",
     [] {
       MPI_Comm child = spawn();
       MPI_Barrier(child);
       part(child);
     }},
    {"child_truncates",
     [] {
       MPI_Comm child = spawn();
       int data[4] = {};
       if (rank == 0) MPI_Send(data, 4, MPI_INT, 0, 0, child);
       part(child);
     }},
    {"child_rank_outside", [] { part(spawn()); }},
    {"both_receive",
     [] {
       MPI_Comm child = spawn();
       int data = 1;
       if (rank == 0) {
         MPI_Recv(&data, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
         MPI_Send(&data, 1, MPI_INT, 0, 0, child);
       }
       part(child);
     }},
    {"child_in_barrier_of_its_own",
     [] {
       MPI_Comm child = spawn(0, 2);
       int data = 1;
       if (wrong && rank == 0) MPI_Recv(&data, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
       part(child);
     }},
    {"child_does_not_part", [] { part(spawn()); }},
    {"child_aborts",
     [] {
       MPI_Comm child = spawn();
       int data = 0;
       if (wrong && rank == 0) MPI_Recv(&data, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE);
       part(child);
     }},
    // With MPI_THREAD_MULTIPLE, which a name asks for: threads that the library starts for other jobs are none of the
    // program's.
    {"threads_ssend_both",
     [] {
       MPI_Comm child = spawn();
       ssend_and_recv(child);
       part(child);
     }},
    {"threads_late",
     [] {
       MPI_Comm child = spawn();
       wrong ? ssend_and_recv(child) : wait_for_own_thread(child);
       part(child);
     }},
    {"threads_over_a_port",
     [] {
       const std::string port = port_of_all();
       MPI_Comm two = pair(port);
       rank == 0 ? ssend_and_recv(two) : recv_and_ssend(two);
       part(two);
     }},
    // One job is in MPI_Finalize, and the other waits for it.
    {"recv_from_finalize",
     [] {
       MPI_Comm child = spawn();
       if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 0, 1, child, MPI_STATUS_IGNORE);
       part(child);
     }},
    {"child_recv_from_finalize",
     [] {
       MPI_Comm child = spawn();
       if (wrong) return;
       if (rank == 0) MPI_Send(&word, 1, MPI_INT, 0, 1, child);
       part(child);
     }},
    {"merge_against_finalize",
     [] {
       MPI_Comm child = spawn();
       merge(child);
       part(child);
     }},
    {"child_merges_against_finalize",
     [] {
       MPI_Comm child = spawn();
       if (wrong) return;
       merge(child);
       part(child);
     }},
    {"parted_by_some",
     [] {
       MPI_Comm child = spawn();
       if (odd()) MPI_Barrier(child);
       part(child);
     }},
    {"used_after_parting",
     [] {
       MPI_Comm child = spawn(), kept = child;
       part(child);
       if (wrong) MPI_Barrier(kept);
     }},
    {"parted_twice",
     [] {
       MPI_Comm child = spawn(), kept = child;
       part(child);
       if (wrong) part(kept);
     }},
    {"parts_with_the_world",
     [] {
       MPI_Comm copy;
       MPI_Comm_dup(world, &copy);
       MPI_Comm which = wrong ? world : copy;
       MPI_Comm_disconnect(&which);
     }},
    {"parts_with_a_receive_open",
     [] {
       const std::string port = port_of_all();
       MPI_Comm two = pair(port);
       int data = 0, one = 1;
       MPI_Request request;
       MPI_Irecv(&data, 1, MPI_INT, 0, 0, two, &request);
       if (!wrong || rank == 1) MPI_Send(&one, 1, MPI_INT, 0, 0, two);
       part(two);
       MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
};

}  // namespace processes
