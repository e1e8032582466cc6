// SPDX-License-Identifier: BSD-3-Clause
// Generalised requests (the standard, section 13.2): which of the program's functions each completion call
// calls, what becomes of their statuses and errors, that a request frees itself at the second of
// MPI_Request_free and MPI_Grequest_complete, and that whoever waits for one lets everything else go on.
#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

struct Calls {
  std::atomic<int> queries{0}, frees{0}, cancels{0};
  int cancel_complete = -1;
  int query_code = MPI_SUCCESS, free_code = MPI_SUCCESS, cancel_code = MPI_SUCCESS;
  int elements = 7;
  bool cancelled = false;
};

int query(void* state, MPI_Status* status) {
  auto& calls = *static_cast<Calls*>(state);
  ++calls.queries;
  // The functions may call MPI, also what takes a turn in the library.
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Status_set_elements(status, MPI_INT, calls.elements);
  MPI_Status_set_cancelled(status, calls.cancelled);
  status->MPI_SOURCE = 11;
  status->MPI_TAG = 12;
  return calls.query_code;
}
int release(void* state) {
  auto& calls = *static_cast<Calls*>(state);
  ++calls.frees;
  return calls.free_code;
}
int cancel(void* state, int complete) {
  auto& calls = *static_cast<Calls*>(state);
  ++calls.cancels;
  calls.cancel_complete = complete;
  return calls.cancel_code;
}

MPI_Request started(Calls& calls) {
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Grequest_start(query, release, cancel, &calls, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

void check_status(const MPI_Status& status, const Calls& calls) {
  int count = -1, flag = -1;
  OK(MPI_Get_count(&status, MPI_INT, &count));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(count, calls.elements);
  CHECK_EQ(flag != 0, calls.cancelled);
  CHECK_EQ(status.MPI_SOURCE, 11);
  CHECK_EQ(status.MPI_TAG, 12);
}

// One completion call of `count` equal requests: returns how many it has completed, all in the end.
using Completes = int(std::vector<MPI_Request>&, std::vector<MPI_Status>*);

int by_wait(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  for (size_t i = 0; i < requests.size(); ++i) {
    if (statuses) (*statuses)[i].MPI_ERROR = 4711;
    OK(MPI_Wait(&requests[i], statuses ? &(*statuses)[i] : MPI_STATUS_IGNORE));
    if (statuses) CHECK_EQ((*statuses)[i].MPI_ERROR, 4711);
  }
  return static_cast<int>(requests.size());
}
int by_test(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  int flag = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    OK(MPI_Test(&requests[i], &flag, statuses ? &(*statuses)[i] : MPI_STATUS_IGNORE));
    CHECK(flag);
  }
  return static_cast<int>(requests.size());
}
int by_waitany(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  const int count = static_cast<int>(requests.size());
  for (int n = 0; n < count; ++n) {
    int index = -1;
    MPI_Status status;
    OK(MPI_Waitany(count, requests.data(), &index, statuses ? &status : MPI_STATUS_IGNORE));
    CHECK(index >= 0 && index < count);
    if (statuses) (*statuses)[static_cast<size_t>(index)] = status;
  }
  return count;
}
int by_testany(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  const int count = static_cast<int>(requests.size());
  for (int n = 0; n < count; ++n) {
    int index = -1, flag = 0;
    MPI_Status status;
    OK(MPI_Testany(count, requests.data(), &index, &flag, statuses ? &status : MPI_STATUS_IGNORE));
    CHECK(flag && index >= 0 && index < count);
    if (statuses) (*statuses)[static_cast<size_t>(index)] = status;
  }
  return count;
}
int by_waitall(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  const int count = static_cast<int>(requests.size());
  OK(MPI_Waitall(count, requests.data(), statuses ? statuses->data() : MPI_STATUSES_IGNORE));
  return count;
}
int by_testall(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  const int count = static_cast<int>(requests.size());
  int flag = 0;
  OK(MPI_Testall(count, requests.data(), &flag, statuses ? statuses->data() : MPI_STATUSES_IGNORE));
  CHECK(flag);
  return count;
}
int by_waitsome(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  const int count = static_cast<int>(requests.size());
  int found = 0;
  std::vector<int> indices(requests.size());
  OK(MPI_Waitsome(count, requests.data(), &found, indices.data(), statuses ? statuses->data() : MPI_STATUSES_IGNORE));
  return found;
}
int by_testsome(std::vector<MPI_Request>& requests, std::vector<MPI_Status>* statuses) {
  const int count = static_cast<int>(requests.size());
  int found = 0;
  std::vector<int> indices(requests.size());
  OK(MPI_Testsome(count, requests.data(), &found, indices.data(), statuses ? statuses->data() : MPI_STATUSES_IGNORE));
  return found;
}

void complete_by(Completes* way, bool with_status) {
  constexpr int kCount = 3;
  Calls calls[kCount];
  std::vector<MPI_Request> requests;
  for (int i = 0; i < kCount; ++i) {
    calls[i].elements = i;
    calls[i].cancelled = i == 1;
    requests.push_back(started(calls[i]));
  }
  int flag = 1;
  OK(MPI_Testall(kCount, requests.data(), &flag, MPI_STATUSES_IGNORE));
  CHECK(!flag);
  for (const Calls& c : calls) CHECK(c.queries == 0 && c.frees == 0);
  for (MPI_Request request : requests) OK(MPI_Grequest_complete(request));
  for (const Calls& c : calls) CHECK(c.queries == 0 && c.frees == 0);
  std::vector<MPI_Status> statuses(kCount);
  CHECK_EQ(way(requests, with_status ? &statuses : nullptr), kCount);
  for (int i = 0; i < kCount; ++i) {
    CHECK(requests[static_cast<size_t>(i)] == MPI_REQUEST_NULL);
    CHECK_EQ(calls[i].queries.load(), 1);
    CHECK_EQ(calls[i].frees.load(), 1);
    CHECK_EQ(calls[i].cancels.load(), 0);
    if (with_status) check_status(statuses[static_cast<size_t>(i)], calls[i]);
  }
}

void get_status() {
  Calls calls;
  MPI_Request request = started(calls);
  int flag = 1;
  MPI_Status status;
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK(!flag && calls.queries == 0);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK(flag);
  check_status(status, calls);
  CHECK(calls.queries == 1 && calls.frees == 0);
  OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  CHECK(flag && calls.queries == 2 && calls.frees == 0);
#ifndef OTHER_MPI
  int index = -1, found = 0;
  OK(MPI_Request_get_status_any(1, &request, &index, &flag, &status));
  CHECK(flag && index == 0 && calls.queries == 3);
  OK(MPI_Request_get_status_all(1, &request, &flag, &status));
  CHECK(flag && calls.queries == 4);
  OK(MPI_Request_get_status_some(1, &request, &found, &index, &status));
  CHECK(found == 1 && index == 0 && calls.queries == 5 && calls.frees == 0);
#endif
  OK(MPI_Wait(&request, &status));
  check_status(status, calls);
  CHECK_EQ(calls.frees.load(), 1);
}

void free_before_and_after() {
  Calls before, after;
  MPI_Request request = started(before), kept = request;
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL && before.frees == 0);
  OK(MPI_Grequest_complete(kept));
  CHECK(before.frees == 1 && before.queries == 0);

  request = started(after);
  OK(MPI_Grequest_complete(request));
  CHECK(after.frees == 0);
  OK(MPI_Request_free(&request));
  CHECK(after.frees == 1 && after.queries == 0);
}

void cancelled() {
  Calls calls;
  MPI_Request request = started(calls);
  OK(MPI_Cancel(&request));
  CHECK(calls.cancels == 1 && calls.cancel_complete == 0);
  calls.cancelled = true;
  OK(MPI_Grequest_complete(request));
  OK(MPI_Cancel(&request));
  CHECK(calls.cancels == 2 && calls.cancel_complete != 0);
  MPI_Status status;
  OK(MPI_Wait(&request, &status));
  check_status(status, calls);
}

// What the functions return comes back from the call; the last one counts.
void errors() {
  int query_failed, free_failed;
  OK(MPI_Add_error_class(&query_failed));
  OK(MPI_Add_error_class(&free_failed));
  {
    Calls calls;
    calls.free_code = free_failed;
    calls.query_code = query_failed;
    MPI_Request request = started(calls);
    OK(MPI_Grequest_complete(request));
#ifndef OTHER_MPI
    int flag;
    CHECK_EQ(check::error_class(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE)), query_failed);
    CHECK_EQ(check::error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), free_failed);
#else
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
#endif
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_EQ(calls.frees.load(), 1);
  }
  {
    Calls calls;
    calls.cancel_code = query_failed;
    MPI_Request request = started(calls);
    CHECK_EQ(check::error_class(MPI_Cancel(&request)), query_failed);
    calls.free_code = free_failed;
    MPI_Request kept = request;
    OK(MPI_Request_free(&request));
    CHECK_EQ(check::error_class(MPI_Grequest_complete(kept)), free_failed);
    CHECK_EQ(calls.frees.load(), 1);
  }
  {
    Calls good, bad;
    bad.free_code = free_failed;
    MPI_Request requests[] = {started(good), started(bad)};
    MPI_Status statuses[2];
    for (MPI_Request request : requests) OK(MPI_Grequest_complete(request));
    CHECK_EQ(check::error_class(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
    CHECK_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(check::error_class(statuses[1].MPI_ERROR), free_failed);
    CHECK(good.frees == 1 && bad.frees == 1);
  }
#ifndef OTHER_MPI
  CHECK_EQ(check::error_class(MPI_Grequest_complete(MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
  {
    Calls calls;
    MPI_Request request = started(calls);
    OK(MPI_Grequest_complete(request));
    CHECK_EQ(check::error_class(MPI_Grequest_complete(request)), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int number = 0;
    MPI_Request receive;
    OK(MPI_Irecv(&number, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &receive));
    CHECK_EQ(check::error_class(MPI_Grequest_complete(receive)), MPI_ERR_REQUEST);
    OK(MPI_Cancel(&receive));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
#endif
}

// Another thread completes it, with messages to be received meanwhile.
void by_other_threads(const check::Program& program, Completes* way) {
  const int next = (program.rank() + 1) % program.size(),
            before = (program.rank() + program.size() - 1) % program.size();
  Calls calls[2];
  std::vector<MPI_Request> requests{started(calls[0]), started(calls[1])};
  std::vector<int> data(100'000), sent(100'000, program.rank());
  MPI_Request messages[2];
  OK(MPI_Irecv(data.data(), 100'000, MPI_INT, before, 3, MPI_COMM_WORLD, &messages[0]));
  OK(MPI_Isend(sent.data(), 100'000, MPI_INT, next, 3, MPI_COMM_WORLD, &messages[1]));
  const std::vector<MPI_Request> kept = requests;
  std::thread other([&] {
    OK(MPI_Waitall(2, messages, MPI_STATUSES_IGNORE));
    for (MPI_Request request : kept) OK(MPI_Grequest_complete(request));
  });
  std::vector<MPI_Status> statuses(2);
  int done = way(requests, &statuses);
  while (done < 2) {
    for (int i = 0; i < 2; ++i)
      if (calls[i].frees == 0) check_status(statuses[0], calls[1 - i]);
    done += way(requests, nullptr);
  }
  other.join();
  for (const int value : data) CHECK_EQ(value, before);
  for (const Calls& c : calls) CHECK(c.queries == 1 && c.frees == 1);
}

// Two threads end one at the same time: the function that frees is called once.
void ends_race() {
  for (int i = 0; i < 200; ++i) {
    Calls calls;
    MPI_Request request = started(calls), kept = request;
    std::thread other([&] { OK(MPI_Grequest_complete(kept)); });
    OK(MPI_Request_free(&request));
    other.join();
    CHECK_EQ(calls.frees.load(), 1);
    CHECK_EQ(calls.queries.load(), 0);
  }
}

// In one array with messages and with nothing.
void mixed() {
  Calls calls;
  int in = 0, out = 42;
  MPI_Request requests[] = {started(calls), MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  OK(MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[2]));
  OK(MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[3]));
  OK(MPI_Grequest_complete(requests[0]));
  MPI_Status statuses[4];
  OK(MPI_Waitall(4, requests, statuses));
  check_status(statuses[0], calls);
  CHECK_EQ(in, 42);
  CHECK_EQ(calls.frees.load(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv, MPI_THREAD_MULTIPLE);
  for (Completes* way : {by_wait, by_test, by_waitany, by_testany, by_waitall, by_testall, by_waitsome, by_testsome})
    for (const bool with_status : {true, false}) complete_by(way, with_status);
  get_status();
  free_before_and_after();
  cancelled();
  errors();
  mixed();
  for (Completes* way : {by_wait, by_waitany, by_waitall, by_waitsome}) by_other_threads(program, way);
  ends_race();
}
