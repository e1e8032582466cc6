// SPDX-License-Identifier: BSD-3-Clause
// The programs and files that the launcher brings along to a node, and where a rank's program is found there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/node/spawn.hpp"

namespace tutti::launcher {

class BroughtFiles {
 public:
  explicit BroughtFiles(std::string folder) : folder_(std::move(folder)) {}  // the job's
  ~BroughtFiles();                                                           // what it has placed goes
  BroughtFiles(const BroughtFiles&) = delete;
  BroughtFiles& operator=(const BroughtFiles&) = delete;

  // A piece of a file, before the launch; what fails is told by place().
  void give(const std::string& name, const std::string& bytes);
  Error place(const NodeTask& task);
  // The one that --preload-binary has brought to this node, or else what the folders of `search` have.
  Program program_of(const NodeTask& task, const App& app, const std::string& search) const;

 private:
  std::string folder_;
  std::string problem_;              // of a file that was to come
  std::vector<std::string> placed_;  // in folders of ranks
};

// The name by which the user's shell calls the folder of `app` may be of one node alone.
void settle_folder(App& app);

}  // namespace tutti::launcher
