// SPDX-License-Identifier: BSD-3-Clause
// Whether the threads that call MPI are those that the level of MPI_Init_thread allows (the standard, section
// 11.6.2): under MPI_THREAD_SINGLE and FUNNELED the one that initialized MPI, under SERIALIZED any, one after
// the other. Judged by the flight record, so that it costs the calls nothing: at each thread's first call that
// communicates, waits, looks or makes what is shared, and where several threads call, in each of those. Calls
// that any thread may make at any time, and others that only ask, are not looked at.
#pragma once

namespace tutti::mpi {

// From now on; before MPI_Init returns, and the flight record is open. A thread that may not call ends the job;
// with `report_only` it is told, once.
void open_thread_judge(bool report_only);

// "MPI_THREAD_SINGLE"
const char* name_of_thread_level(int level);

}  // namespace tutti::mpi
