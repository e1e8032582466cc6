# SPDX-License-Identifier: BSD-3-Clause
# Runs env/fatal in the way WAY on 3 ranks: the job must end, with the right exit code and words.
execute_process(COMMAND ${MPIRUN} -n 3 ${PROGRAM} ${WAY} TIMEOUT 20
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(code MATCHES "timeout" OR code EQUAL 0)
  message(FATAL_ERROR "${WAY}: the exit code is '${code}'; a job that fails ends, with another\n${said}")
endif()
if(WAY STREQUAL "abort" AND NOT code EQUAL 42)
  message(FATAL_ERROR "MPI_Abort(…, 42) gave the exit code ${code}\n${said}")
endif()
if(said MATCHES "an error went by")
  message(FATAL_ERROR "${WAY}: the program went on after the error\n${said}")
endif()
if(NOT WAY STREQUAL "abort" AND NOT said MATCHES "MPI_Send")
  message(FATAL_ERROR "${WAY}: the message does not name the call, MPI_Send\n${said}")
endif()
