// SPDX-License-Identifier: BSD-3-Clause
// A master hands out tasks, and workers are killed at random times: the master receives from anybody, acknowledges each failure,
// hands out again what the failed ones had, and in the end has the right answer of each task. Arguments: a seed, and for how many
// milliseconds workers are killed. Run with mpirun --on-failure=continue.
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "check.hpp"

namespace {

constexpr int kTasks = 600, kTask = 1, kAnswer = 2, kNoTask = -1, kNoise = 40'000;
unsigned seed = 1;
int rank, size, master;
std::mutex killing;    // who is killed behind MPI_Finalize ends the job with the code of that
bool is_over = false;  // no more kills

int class_of(int code) {
  return check::error_class(code);
}

// A task is long now and then, and so is its answer.
int length_of(int task) {
  return task % 17 == 0 ? kNoise : 1;
}
int answer_of(int task) {
  return task * 3 + 1;
}

class Master {
 public:
  Master() {
    for (int task = 0; task < kTasks; ++task) open_.push_back(task);
    for (int who = 0; who < size; ++who)
      if (who != master) idle_.insert(who);
  }

  void run() {
    while (answers_.size() < kTasks) {
      hand_out();
      if (idle_.empty() && busy_.empty()) return work_alone();
      take_answer();
    }
    for (const auto& [task, value] : answers_) CHECK_EQ(value, answer_of(task));
    const int no_more = kNoTask;
    for (int who = 0; who < size; ++who)
      if (who != master && !failed_.contains(who)) {
        const int code = MPI_Send(&no_more, 1, MPI_INT, who, kTask, MPI_COMM_WORLD);
        CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
      }
  }

 private:
  void hand_out() {
    while (!open_.empty() && !idle_.empty()) {
      const int who = *idle_.begin(), task = open_.front();
      idle_.erase(idle_.begin());
      std::vector<int> words(static_cast<size_t>(length_of(task)), task);
      const int code = MPI_Send(words.data(), length_of(task), MPI_INT, who, kTask, MPI_COMM_WORLD);
      if (code != MPI_SUCCESS) {
        CHECK_EQ(class_of(code), int{MPIX_ERR_PROC_FAILED});
        continue;  // it is heard of, and idle no more
      }
      open_.pop_front();
      busy_[who] = task;
    }
  }

  void take_answer() {
    std::vector<int> words(kNoise + 1);
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(words.data(), kNoise + 1, MPI_INT, MPI_ANY_SOURCE, kAnswer, MPI_COMM_WORLD, &request));
    for (;;) {
      const int code = MPI_Wait(&request, &status);
      if (code == MPI_SUCCESS) break;
      if (class_of(code) == MPIX_ERR_PROC_FAILED && request == MPI_REQUEST_NULL) return hear_of_failures();
      CHECK_EQ(class_of(code), int{MPIX_ERR_PROC_FAILED_PENDING});
      hear_of_failures();
      hand_out();
      if (!busy_.empty()) continue;
      OK(MPI_Cancel(&request));
      OK(MPI_Wait(&request, &status));
      int cancelled = 0;
      OK(MPI_Test_cancelled(&status, &cancelled));
      if (cancelled) return;
      break;
    }
    int count = 0;
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, length_of(words[0]) + 1);
    CHECK_EQ(words[static_cast<size_t>(count) - 1], answer_of(words[0]));
    answers_[words[0]] = words[1];
    if (busy_.erase(status.MPI_SOURCE)) idle_.insert(status.MPI_SOURCE);
  }

  void hear_of_failures() {
    MPI_Group failed, world;
    int count = 0, acknowledged = 0;
    OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(failed, &count));
    CHECK(count > static_cast<int>(failed_.size()));
    for (int i = 0; i < count; ++i) {
      int who = -1;
      OK(MPI_Group_translate_ranks(failed, 1, &i, world, &who));
      if (!failed_.insert(who).second) continue;
      idle_.erase(who);
      if (busy_.contains(who) && !answers_.contains(busy_[who])) open_.push_back(busy_[who]);
      busy_.erase(who);
    }
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, count, &acknowledged));
    CHECK_EQ(acknowledged, count);
    if (failed != MPI_GROUP_EMPTY) OK(MPI_Group_free(&failed));
    OK(MPI_Group_free(&world));
  }

  void work_alone() {
    for (const int task : open_) answers_[task] = answer_of(task);
    CHECK_EQ(answers_.size(), size_t{kTasks});
  }

  std::deque<int> open_;
  std::set<int> idle_, failed_;
  std::map<int, int> busy_, answers_;
};

void work() {
  std::vector<int> words(kNoise + 1);
  for (;;) {
    OK(MPI_Recv(words.data(), kNoise, MPI_INT, master, kTask, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    const int task = words[0];
    if (task == kNoTask) return;
    std::fill(words.begin() + 1, words.end(), answer_of(task));
    ::usleep(300);
    OK(MPI_Send(words.data(), length_of(task) + 1, MPI_INT, master, kAnswer, MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) seed = static_cast<unsigned>(std::atoi(argv[1]));
  const int spell = argc > 2 ? std::atoi(argv[2]) : 300;
  int level = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check::world_rank = rank;
  master = static_cast<int>(seed % static_cast<unsigned>(size));
  if (rank != master && check::mix(seed, 1, static_cast<unsigned>(rank)) % 3 != 0)
    std::thread([spell] {
      ::usleep(1000 * (check::mix(seed, 2, static_cast<unsigned>(rank)) % static_cast<unsigned>(spell)));
      const std::lock_guard<std::mutex> lock(killing);
      if (!is_over) ::kill(::getpid(), SIGKILL);
    }).detach();
  if (rank == master)
    Master().run();
  else
    work();
  {
    const std::lock_guard<std::mutex> lock(killing);
    is_over = true;
  }
  OK(MPI_Finalize());
  if (rank == master) std::puts("ok");
}
