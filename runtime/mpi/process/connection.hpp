// SPDX-License-Identifier: BSD-3-Clause
// Jobs that are connected (the standard, sections 11.8 to 11.10): how two groups of processes learn of each other over
// a socket between their roots, the intercommunicator that they get, and how each hears of the other's end. The socket
// stays open as the connection's lifeline: its end without a farewell is the end of the other job, of which the root
// tells the members of its side; what waits for processes of that job, now or later, has an error then.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/function.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/process/beside.hpp"
#include "mpi/process/socket.hpp"

namespace tutti::mpi::processes {

// Collective over `comm`, and over the other side, which calls it, too. `reach`, which the root alone calls, and which
// may block, gives the socket to the other root; it hears of a descriptor that becomes readable when it shall give up, since
// a member of `comm` has failed, with an empty socket or an error. `accepts`: one side is true, its group comes first.
// `function`: the program's call. `awaited`: whose call `reach` waits for (beside.hpp).
using Reach = std::function<Result<Socket>(int gives_up)>;
Result<Ref<Comm>> join_groups(Comm& comm, int root, bool accepts, Function function, const Reach& reach,
                              const Awaited* awaited = nullptr);

// Collective over both sides: from here on neither hears of the other's end. Nothing if `comm` has none.
Error part(Comm& comm);
// In MPI_Finalize, when this job has nothing more to send: bids all connected jobs farewell, and waits for theirs.
void part_from_all();
// Tells the processes of other jobs in `comm` to end with this code, as far as they can be reached in time.
void abort_connected(const Comm& comm, int code);

// ---- of all ranks of `comm`: strings in place of bytes

Result<std::vector<std::string>> gather_texts(Comm& comm, const std::string& mine, Function function);
Error spread_text(Comm& comm, int root, std::string& text);

}  // namespace tutti::mpi::processes
