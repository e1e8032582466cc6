// SPDX-License-Identifier: BSD-3-Clause
// Accesses to windows that nothing orders, epochs and assertions that contradict each other: each of these ends with one
// error. A line "LINE name" is a place that is told; one_sided.py knows what each is to be told.
#include <mpi.h>

#include <utility>
#include <vector>

#include "one_sided_cases.hpp"

namespace one_sided {

// clang-format off
std::vector<Case> wrong_cases() {
  return {
    {"put_put", [] { fenced([](W w) { w.put(0); }); }},
    {"put_put_overlapping", [] { fenced([](W w) { w.put(rank ? 3 : 0, 4); }); }},
    {"put_get", [] { fenced([](W w) { rank ? w.get(0) : w.put(0); }); }},
    {"put_add", [] { fenced([](W w) { rank ? w.add(0) : w.put(0); }); }},
    {"get_add", [] { fenced([](W w) { rank ? w.add(0) : w.get(0); }); }},
    {"put_fetch", [] { fenced([](W w) { rank ? w.fetch(0) : w.put(0); }); }},
    {"put_no_op", [] { fenced([](W w) { rank ? w.fetch(0, MPI_NO_OP) : w.put(0); }); }},
    {"get_compare",
     [] {
       fenced([](W w) {
         if (rank == 0) w.get(5);
         else MPI_Compare_and_swap(&two, &one, got, I, 2, 5, w.win);  // LINE compare
       });
     }},
    {"types",
     [] {
       fenced([](W w) {
         static const float f = 1;
         rank ? w.add(0) : void(MPI_Accumulate(&f, 1, MPI_FLOAT, 2, 0, 1, MPI_FLOAT, MPI_SUM, w.win));  // LINE float
       });
     }},
    {"operations", [] { fenced([](W w) { w.add(0, 4, rank ? MPI_MAX : MPI_SUM); }); }},
    {"derived",
     [] {
       fenced([](W w) {
         MPI_Datatype every_other;
         MPI_Type_vector(8, 1, 2, I, &every_other);
         MPI_Type_commit(&every_other);
         rank ? w.put(6) : void(MPI_Put(given, 8, I, 2, 0, 1, every_other, w.win));  // LINE derived
         MPI_Type_free(&every_other);
       });
     }},
    {"self_and_other",  // a rank's operations at its own memory are like those of others
     [] {
       const Window w;
       w.fence();
       if (rank != 1) w.put(0);
       w.fence();
     }},
    {"later_epoch",
     [] {
       const Window w;
       w.fence();
       for (int i = 0; i < 5; ++i) {
         if (rank < 2) w.put(i < 4 ? rank : 7);
         w.fence();
       }
     }},
    // ---- of one origin
    {"one_put_put", [] { fenced([](W w) { if (rank == 0) w.put(0), w.put(0); }); }},
    {"one_put_get", [] { fenced([](W w) { if (rank == 0) w.put(0, 4), w.get(3); }); }},
    {"one_get_put", [] { fenced([](W w) { if (rank == 0) w.get(0), w.put(0); }); }},
    {"one_put_add", [] { fenced([](W w) { if (rank == 0) w.put(0), w.add(0); }); }},
    {"one_types",
     [] {
       fenced([](W w) {
         static const float f = 1;
         if (rank != 0) return;
         w.add(0);
         MPI_Accumulate(&f, 1, MPI_FLOAT, 2, 0, 1, MPI_FLOAT, MPI_SUM, w.win);
       });
     }},
    {"one_posted", [] { posted([](W w) { if (rank == 0) w.put(0), w.put(0); }); }},
    {"one_locked", [] { locked([](W w) { if (rank == 0) w.put(0), w.put(0); }); }},
    {"one_flush_local",  // which completes nothing at the target
     [] {
       locked([](W w) {
         if (rank != 0) return;
         w.put(0);
         MPI_Win_flush_local(2, w.win);
         w.put(0);
       });
     }},
    {"one_waited",  // and neither does this
     [] {
       locked([](W w) {
         if (rank != 0) return;
         MPI_Request request;
         MPI_Rput(given, 1, I, 2, 0, 1, I, w.win, &request);  // LINE rput
         MPI_Wait(&request, MPI_STATUS_IGNORE);
         w.put(0);
       });
     }},
    {"one_dynamic",
     [] {
       MPI_Win win;
       int mine = 0;
       MPI_Aint address, at[1];
       MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
       MPI_Win_attach(win, &mine, sizeof mine);
       MPI_Get_address(&mine, &address);
       MPI_Sendrecv(&address, 1, MPI_AINT, (rank + size - 1) % size, 0, at, 1, MPI_AINT, (rank + 1) % size, 0, world,
                    MPI_STATUS_IGNORE);
       MPI_Win_fence(0, win);
       for (int i = 0; i < 2; ++i) MPI_Put(&one, 1, I, (rank + 1) % size, at[0], 1, I, win);  // LINE dynamic
       MPI_Win_fence(0, win);
       MPI_Win_free(&win);
     }},
    // ---- in other epochs
    {"posted_put_put", [] { posted([](W w) { w.put(0); }); }},
    {"posted_put_get", [] { posted([](W w) { rank ? w.get(0) : w.put(0); }); }},
    {"locked_put_put", [] { locked([](W w) { w.put(0); }); }},
    {"locked_put_add", [] { locked([](W w) { rank ? w.add(0) : w.put(0); }); }},
    {"locked_get_of_what_is_put",
     [] {
       const Window w;
       MPI_Win_lock_all(0, w.win);
       if (rank == 0) w.put(0);
       arrived();
       if (rank == 1) w.get(0);
       arrived();
       MPI_Win_unlock_all(w.win);
     }},
    // ---- by the target itself
    {"receives_there",
     [] {
       const Window w;
       w.fence();
       if (rank == 0) w.put(0);
       if (rank == 2)
         MPI_Sendrecv(&two, 1, I, 2, 0, w.memory, 1, I, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // LINE own_use
       w.fence();
     }},
    {"receives_there_at_once",
     [] {
       const Window w;
       MPI_Request request;
       w.fence();
       if (rank == 2) MPI_Irecv(w.memory, 1, I, 0, 0, world, &request);  // LINE own_irecv
       MPI_Barrier(world);
       if (rank == 0) w.put(0), MPI_Send(&two, 1, I, 2, 0, world);
       if (rank == 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
       w.fence();
     }},
    {"gets_what_is_received",
     [] {
       const Window w;
       w.fence();
       if (rank == 0) w.get(0, 4);
       if (rank == 2) MPI_Get(w.memory + 1, 2, I, 1, 0, 2, I, w.win);  // LINE own_get
       w.fence();
     }},
    {"gets_what_is_received_at_once",
     [] {
       const Window w;
       MPI_Request request;
       w.fence();
       if (rank == 2) MPI_Irecv(w.memory, 4, I, 0, 0, world, &request);  // LINE own_irecv_of_get
       MPI_Barrier(world);
       if (rank == 0) w.get(2), MPI_Send(given, 4, I, 2, 0, world);
       if (rank == 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
       w.fence();
     }},
    {"parts_of_elements",
     [] {
       MPI_Win win;
       static int memory[8];
       MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, world, &win);
       MPI_Win_fence(0, win);
       if (rank < 2) MPI_Accumulate(given, 2, I, 2, rank, 2, I, MPI_SUM, win);  // LINE askew
       MPI_Win_fence(0, win);
       MPI_Win_free(&win);
     }},
    {"sends_from_there",
     [] {
       const Window w;
       w.fence();
       if (rank == 0) w.put(0);
       arrived();
       if (rank == 2) MPI_Send(w.memory, 1, I, 0, 0, world);  // LINE own_send
       if (rank == 0) MPI_Recv(got, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
       w.fence();
     }},
    {"sends_before_what_is_put",  // whichever of the two comes first
     [] {
       const Window w;
       w.fence();
       if (rank == 0) w.put(0);
       if (rank == 2) MPI_Send(w.memory, 1, I, 1, 0, world);  // LINE own_send_unordered
       if (rank == 1) MPI_Recv(got, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
       w.fence();
     }},
    // ---- epochs and assertions
    {"post_locked",
     [] {
       const Window w;
       MPI_Win_lock_all(0, w.win);
       MPI_Barrier(world);
       MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win);
       MPI_Win_wait(w.win);
       MPI_Win_unlock_all(w.win);
     }},
    {"lock_exposed",
     [] {
       const Window w;
       MPI_Group zero = only(w, {0}), origin = only(w, {1});
       if (rank == 0) MPI_Win_post(origin, 0, w.win);
       MPI_Barrier(world);
       // By messages the second one is refused.
       if (rank == 2) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win), MPI_Win_unlock(0, w.win);  // LINE lock_exposed
       MPI_Barrier(world);
       if (rank == 1) MPI_Win_start(zero, 0, w.win), MPI_Win_complete(w.win);
       if (rank == 0) MPI_Win_wait(w.win);
     }},
    {"fence_no_put",
     [] {
       const Window w;
       w.fence(MPI_MODE_NOPUT);
       if (rank == 0) w.put(0);
       w.fence();
     }},
    {"post_no_put",
     [] {
       const Window w;
       MPI_Win_post(w.group, MPI_MODE_NOPUT, w.win);
       MPI_Win_start(w.group, 0, w.win);
       if (rank == 0) w.add(0);
       MPI_Win_complete(w.win);
       MPI_Win_wait(w.win);
     }},
    {"no_precede",
     [] {
       const Window w;
       w.fence(rank == 1 ? MPI_MODE_NOPRECEDE : 0);
     }},
    {"no_succeed",
     [] {
       const Window w;
       w.fence();
       w.fence(rank == 1 ? 0 : MPI_MODE_NOSUCCEED);
     }},
    {"start_unchecked",
     [] {
       const Window w;
       MPI_Win_post(w.group, 0, w.win);
       MPI_Barrier(world);
       MPI_Win_start(w.group, MPI_MODE_NOCHECK, w.win);
       MPI_Win_complete(w.win);
       MPI_Win_wait(w.win);
     }},
    // ---- datatypes and hints
    {"entries_overlap",
     [] {
       fenced([](W w) {
         int lengths[] = {2, 2}, over[] = {0, 1};
         MPI_Datatype type;
         MPI_Type_indexed(2, lengths, over, I, &type);
         MPI_Type_commit(&type);
         if (rank == 0) MPI_Put(given, 4, I, 2, 0, 1, type, w.win);
         MPI_Type_free(&type);
       });
     }},
    {"same_op", [] { fenced([](W w) { w.fetch(0, rank ? MPI_NO_OP : MPI_SUM); }, hint("accumulate_ops", "same_op")); }},
    {"no_locks",
     [] {
       const Window w(hint("no_locks", "true"));
       MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
     }},
    {"no_locks_all",
     [] {
       const Window w(hint("no_locks", "true"));
       MPI_Win_lock_all(0, w.win);
     }},
    {"same_size",
     [] {
       MPI_Win win;
       MPI_Win_create(got, rank == 1 ? 8 : 4, 1, hint("same_size", "true"), world, &win);
     }},
    {"same_disp_unit",
     [] {
       MPI_Win win;
       MPI_Win_create(got, 8, rank == 1 ? 4 : 1, rank == 2 ? hint("same_disp_unit", "true") : MPI_INFO_NULL, world, &win);
     }},
    {"lock_unchecked",
     [] {
       const Window w;
       if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w.win);
       MPI_Barrier(world);
       if (rank == 1) {
         MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, MPI_MODE_NOCHECK, w.win);
         w.put(0);
         MPI_Win_unlock(2, w.win);
       }
       MPI_Barrier(world);  // behind the other's unlock
       if (rank == 0) MPI_Win_unlock(2, w.win);
     }},
  };
}
// clang-format on

}  // namespace one_sided
