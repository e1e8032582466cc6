// SPDX-License-Identifier: BSD-3-Clause
// The processes that this one knows, of whatever job. A process is a number, which means something here alone: below
// the size of the own job it is a rank of it; processes of other jobs have the numbers from there on, in the order in
// which they became known. What has to be understood elsewhere names a process by its job's random id and its rank
// there. Knows nothing of how messages travel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tutti::boot {

// As every process understands it.
struct GlobalName {
  uint64_t job = 0;
  int32_t rank = 0;
  auto operator<=>(const GlobalName&) const = default;  // NOLINT(modernize-use-nullptr): what the compiler makes
};

class Processes {
 public:
  // `job`: the own one's id; `size`: how many ranks it has.
  Processes(uint64_t job, int size) : job_(job), size_(size) {}

  uint64_t job() const { return job_; }
  bool is_foreign(int process) const { return process >= size_; }
  // The number of a process, which gets one if it had none. `host`: where it is, for messages.
  int number_of(const GlobalName& name, const std::string& host = {});
  // -1: it is not known.
  int find(const GlobalName& name) const;
  GlobalName name_of(int process) const;
  // For messages: "rank 2 of a job on node3", "rank 2".
  std::string text(int process) const;
  int count() const { return size_ + static_cast<int>(foreign_.size()); }

  // Words of this job's id that are the same on all its ranks and on no other job.
  static uint64_t id_of(const std::string& job, int size);

 private:
  struct Foreign {
    GlobalName name;
    std::string host;
  };
  const uint64_t job_;
  const int size_;
  std::vector<Foreign> foreign_;     // by number, less size_
  std::map<GlobalName, int> known_;  // those of other jobs
};

}  // namespace tutti::boot
