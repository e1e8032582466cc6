// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/run.hpp"

#include <unistd.h>

#include <cstdio>
#include <future>

#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/cleanup.hpp"
#include "launcher/hosts.hpp"
#include "launcher/job.hpp"
#include "launcher/node_agent.hpp"
#include "launcher/options.hpp"

extern char** environ;

namespace tutti::launcher {
namespace {

constexpr int kUsageExitCode = 2;

int refuse(const Error& error, int exit_code = kUsageExitCode) {
  say(Level::error, "{}", error.message());
  return exit_code;
}

std::string current_folder() {
  char* path = ::getcwd(nullptr, 0);
  std::string out = path ? path : "/";
  ::free(path);
  return out;
}

App app_of(const AppOptions& options) {
  App app;
  app.command = options.command;
  app.folder = options.folder.empty() ? current_folder() : options.folder;
  if (!app.folder.starts_with('/')) app.folder = current_folder() + "/" + app.folder;
  for (const std::string& variable : options.variables) {
    if (variable.find('=') != variable.npos) {
      app.variables.push_back(variable);
    } else if (const char* value = ::getenv(variable.c_str())) {
      app.variables.push_back(variable + "=" + value);
    } else {
      say(Level::warning, "-x {}: the variable is not set here", variable);
    }
  }
  return app;
}

struct Plan {
  RunOptions options;
  Config config;
  Allocation allocation;
  MapPolicy policy;
  BindTo bind_to;
};

Result<Plan> make_plan(RunOptions options) {
  Result<Config> config = Config::load(options.settings);
  if (!config) return std::move(config).error();
  set_log_level(static_cast<Level>(config->value("log.level").number));
  if (options.map_by.empty()) options.map_by = config->text("launch.map_by");
  if (options.bind_to.empty()) options.bind_to = config->text("launch.bind_to");
  Result<MapPolicy> policy = parse_map_policy(options.map_by);
  if (!policy) return std::move(policy).error();
  Result<BindTo> bind_to = parse_bind_to(options.bind_to);
  if (!bind_to) return std::move(bind_to).error();
  if (options.apps.size() > 1)
    for (const AppOptions& app : options.apps)
      if (!app.ranks && policy->by != MapPolicy::By::ppr)
        return failure(1, "with several programs each needs its -n; '{}' has none", app.command[0]);
  Result<Allocation> allocation = allocate(options);
  if (!allocation) return std::move(allocation).error();
  return Plan{std::move(options), std::move(*config), std::move(*allocation), *policy, *bind_to};
}

// The job's environment: ours, with the settings as they were resolved here.
std::vector<std::string> job_environment(const Config& config) {
  std::vector<std::string> out;
  const std::vector<std::string> settings = config.as_environment();
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view pair = *entry;
    const std::string_view name = pair.substr(0, pair.find('=') + 1);
    bool replaced = false;
    for (const std::string& setting : settings) replaced = replaced || setting.starts_with(name);
    if (!replaced) out.emplace_back(pair);
  }
  out.insert(out.end(), settings.begin(), settings.end());
  return out;
}

Result<NodeTask> make_task(const Plan& plan, const std::string& job_id,
                           const std::vector<int>& cores) {
  NodeTask task;
  task.map.id = job_id;
  std::vector<AppShape> shapes;
  for (size_t a = 0; a < plan.options.apps.size(); ++a) {
    task.map.apps.push_back(app_of(plan.options.apps[a]));
    shapes.push_back({plan.options.apps[a].ranks, plan.allocation.app_hosts[a]});
  }
  for (size_t n = 0; n < plan.allocation.hosts.size(); ++n) {
    task.map.nodes.push_back(plan.allocation.hosts[n].name);
    task.map.slots.push_back(plan.allocation.hosts[n].slots.value_or(cores[n]));
  }
  Result<Placement> placement = place(shapes, task.map.slots, plan.policy);
  if (!placement) return std::move(placement).error();
  task.map.ranks = std::move(placement->ranks);
  task.environment = job_environment(plan.config);
  task.policy = plan.policy;
  task.bind_to = plan.bind_to;
  task.report_bindings = plan.options.report_bindings;
  task.kill_grace = plan.config.duration("launch.kill_grace");
  return task;
}

void say_if_oversubscribed(const JobMap& map, const std::vector<int>& cores) {
  for (size_t n = 0; n < map.nodes.size(); ++n) {
    const size_t ranks = map.ranks_on(static_cast<int>(n)).size();
    if (ranks <= static_cast<size_t>(cores[n])) continue;
    say(Level::note, "{} ranks share {} {} on {}", ranks, cores[n], cores[n] == 1 ? "core" : "cores",
        map.nodes[n]);
    return;  // once is enough
  }
}

int run_here(const Plan& plan) {
  const std::string job_id = random_hex(6);
  Result<Cleanup> cleanup = Cleanup::arm(job_id, "0");
  if (!cleanup) return refuse(cleanup.error(), 1);
  // Signals that come from here on find the loop's handlers.
  Loop loop;
  Reaper reaper(loop);
  Job job(loop, {plan.options.tag_output, plan.options.timeout,
                 plan.config.duration("launch.kill_grace")});
  std::future<Result<Topology>> reading =
      std::async(std::launch::async, [] { return Topology::of_this_machine(); });
  Result<std::unique_ptr<PmixServer>> pmix =
      PmixServer::start(cleanup->folder(), plan.allocation.hosts[0].name);
  Result<Topology> topology = reading.get();
  if (!pmix) return refuse(pmix.error(), 1);
  if (!topology) return refuse(topology.error(), 1);
  const std::vector<int> cores{topology->allowed_cores()};
  Result<NodeTask> task = make_task(plan, job_id, cores);
  if (!task) return refuse(task.error());
  say_if_oversubscribed(task->map, cores);
  job.add_node(std::make_unique<NodeAgent>(loop, reaper, *cleanup, *topology, **pmix, job));
  loop.post([&] { job.launch(*task); });
  loop.run();
  return job.exit_code();
}

}  // namespace

int run_command(std::string_view command, const std::vector<std::string>& arguments) {
  Result<RunOptions> options = parse_run_options(arguments);
  if (!options) return refuse(options.error());
  if (options->help || options->version) {
    std::fputs(options->help ? run_help(command).c_str() : "tutti " TUTTI_VERSION "\n", stdout);
    return 0;
  }
  Result<Plan> plan = make_plan(std::move(*options));
  if (!plan) return refuse(plan.error());
  for (const Host& host : plan->allocation.hosts)
    if (!host.own) return refuse(failure(1, "{} is another machine", host.name));
  return run_here(*plan);
}

}  // namespace tutti::launcher
