// SPDX-License-Identifier: BSD-3-Clause
// Allocations of the schedulers beside Slurm, as the environment of a job's script describes them:
// PBS and Torque, LSF, Grid Engine, Cobalt and Flux. Pure functions of the variables and of the
// files that they name; and what some of these schedulers say in other ways.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/place/slurm.hpp"

namespace tutti::launcher {

struct ScheduledNode {
  std::string name;
  int slots = 1;  // 0: nothing is said of them
  bool operator==(const ScheduledNode&) const = default;
};

struct ScheduledJob {
  std::string scheduler, job_id;  // "PBS", "1234.server"
  std::vector<ScheduledNode> nodes;
  // The scheduler's own command that starts a process on a node of the job; empty: ssh does. The name of the node
  // follows it, or its number among `nodes` stands in place of %rank.
  std::string remote_shell;
};

// The text of a file; or of what a command prints, whose line stands behind '|'.
using FileText = std::function<std::optional<std::string>(const std::string& name)>;

// Nothing where no such scheduler is seen; an error where one describes an allocation that cannot be
// understood. `warning` is what is to be said where a scheduler is seen, and no allocation.
Result<std::optional<ScheduledJob>> scheduled_job(const Variable& variable, const FileText& file, std::string& warning);
std::optional<std::string> text_of_file(const std::string& name);

// What a scheduler says by a signal that it sends to its jobs, as a part of a sentence; empty: nothing that is known.
std::string meaning_of_signal(std::string_view scheduler, int signal);
// What is to be said where a scheduler's own shell has not started a process; empty: it is no scheduler's.
std::string why_shell_refuses(std::string_view shell, const std::string& node);

}  // namespace tutti::launcher
