// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication (the standard, chapter 12), and what sections 7.7, 7.8 and 9.3 say of
// windows. Ranks are good or MPI_PROC_NULL where that is allowed, datatypes committed.
#pragma once

#include "mpi/comm/group.hpp"
#include "mpi/object/info.hpp"
#include "mpi/rma/window.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi::one_sided {

// --- windows (12.2)
Error win_create(void* base, MPI_Aint size, int64_t disp_unit, Info* info, Comm& comm, MPI_Win* win);
Error win_allocate(MPI_Aint size, int64_t disp_unit, Info* info, Comm& comm, void* baseptr, MPI_Win* win);
Error win_allocate_shared(MPI_Aint size, int64_t disp_unit, Info* info, Comm& comm, void* baseptr, MPI_Win* win);
Error win_shared_query(Window& win, int rank, MPI_Aint* size, int64_t& disp_unit, void* baseptr);
Error win_create_dynamic(Info* info, Comm& comm, MPI_Win* win);
Error win_attach(Window& win, void* base, MPI_Aint size);
Error win_detach(Window& win, const void* base);
Error win_free(MPI_Win* win);
Error win_get_group(Window& win, MPI_Group* group);
Error win_set_info(Window& win, Info* info);
Error win_get_info(Window& win, MPI_Info* info_used);

// --- communication (12.3)
Error put(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
          MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win);
Error get(void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
          MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win);
Error accumulate(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
                 MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, const Op& op,
                 Window& win);
Error get_accumulate(const void* origin_addr, int64_t origin_count, const Datatype* origin_datatype, void* result_addr,
                     int64_t result_count, const Datatype& result_datatype, int target_rank, MPI_Aint target_disp,
                     int64_t target_count, const Datatype& target_datatype, const Op& op, Window& win);
Error fetch_and_op(const void* origin_addr, void* result_addr, const Datatype& datatype, int target_rank,
                   MPI_Aint target_disp, const Op& op, Window& win);
Error compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr, const Datatype& datatype,
                       int target_rank, MPI_Aint target_disp, Window& win);
Error rput(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
           MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win,
           MPI_Request* request);
Error rget(void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
           MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, Window& win,
           MPI_Request* request);
Error raccumulate(const void* origin_addr, int64_t origin_count, const Datatype& origin_datatype, int target_rank,
                  MPI_Aint target_disp, int64_t target_count, const Datatype& target_datatype, const Op& op,
                  Window& win, MPI_Request* request);
Error rget_accumulate(const void* origin_addr, int64_t origin_count, const Datatype* origin_datatype, void* result_addr,
                      int64_t result_count, const Datatype& result_datatype, int target_rank, MPI_Aint target_disp,
                      int64_t target_count, const Datatype& target_datatype, const Op& op, Window& win,
                      MPI_Request* request);

// --- synchronisation (12.5)
Error win_fence(int assertion, Window& win);
Error win_start(Group& group, int assertion, Window& win);
Error win_complete(Window& win);
Error win_post(Group& group, int assertion, Window& win);
Error win_wait(Window& win);
Error win_test(Window& win, int* flag);
Error win_lock(int lock_type, int rank, int assertion, Window& win);
Error win_lock_all(int assertion, Window& win);
Error win_unlock(int rank, Window& win);
Error win_unlock_all(Window& win);
Error win_flush(int rank, Window& win);
Error win_flush_all(Window& win);
Error win_flush_local(int rank, Window& win);
Error win_flush_local_all(Window& win);
Error win_sync(Window& win);

// --- names, attributes, error handlers
Error win_set_name(Window& win, const char* win_name);
Error win_get_name(const Window* win, char* win_name, int* resultlen);
Error win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* destroy, int* win_keyval,
                        void* extra_state);
Error win_free_keyval(int* win_keyval);
Error win_set_attr(Window& win, int win_keyval, void* attribute_val);
Error win_get_attr(Window& win, int win_keyval, void* attribute_val, int* flag);
Error win_delete_attr(Window& win, int win_keyval);

}  // namespace tutti::mpi::one_sided
