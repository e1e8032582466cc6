// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/config.hpp"
#include "base/printable.hpp"
#include "launcher/ask/doctor.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/node/spawn.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr auto kPatienceForMeeting = kPatience / 2;  // until those that listen are told of each other

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

bool is_in_path(const std::string& name) {
  const char* search = ::getenv("PATH");
  return !find_program(name, search ? search : "/usr/bin:/bin", "").path.empty();
}

// As a job reaches the host.
std::vector<std::string> shell_to(const Host& to, const Allocation& allocation) {
  const std::string& host = to.name;
  Result<Config> config = Config::load();
  const bool is_set = config && config->value("launch.rsh").origin != "default";
  if (allocation.within_slurm && !is_set && is_in_path("srun"))
    return {"srun", "--nodes=1", "--ntasks=1", "--overlap", "--mpi=none", "--quiet", "--nodelist=" + host};
  std::string rsh = config ? std::string(config->text("launch.rsh")) : "ssh";
  const std::string& own = allocation.remote_shell;
  if (!own.empty() && !is_set && is_in_path(own.substr(0, own.find(' ')))) rsh = own;
  std::vector<std::string> out = words_of(rsh);
  if (const auto place = std::ranges::find(out, "%rank"); place != out.end()) {
    *place = std::to_string(to.place);
    out.insert(out.end(), {"sh", "-c"});
    return out;
  }
  if (out.size() == 1 && out[0] == "ssh")
    out.insert(out.end(), {"-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8"});
  out.push_back(host);
  return out;
}

struct Patient {
  std::string node;
  std::string shell;  // the command, for a sentence
  Talker talker;
  bool late = false;
  bool introduced = false;
};

// Behind this word in a line of its own; empty: it has not told it.
std::string told_by(const Patient& patient, std::string_view word) {
  std::istringstream lines(patient.talker.text());
  for (std::string line; std::getline(lines, line) && !lines.eof();)
    if (line.starts_with(word) && line.substr(word.size(), 1) == "\t") return line.substr(word.size() + 1);
  return "";
}

// Each node that listens is to reach the next one: so each is both who connects and who is connected to.
void introduce(std::vector<Patient>& patients) {
  std::vector<Patient*> listening;
  for (Patient& each : patients)
    if (!each.talker.has_ended() && !told_by(each, "listens").empty()) listening.push_back(&each);
  for (size_t i = 0; i < listening.size(); ++i) {
    const Patient& next = *listening[(i + 1) % listening.size()];
    listening[i]->talker.tell(listening.size() == 1 ? "\n"
                                                    : fmt::format("{} {}\n", next.node, told_by(next, "listens")));
    listening[i]->introduced = true;
  }
}

enum class Meeting { before, at, over };

// All have told where they listen, or have ended; then all have met, or have ended.
void go_on(std::vector<Patient>& patients, Meeting& meeting, bool is_time) {
  const auto has_told = [](const Patient& p) { return p.talker.has_ended() || !told_by(p, "listens").empty(); };
  if (meeting == Meeting::before && (is_time || std::ranges::all_of(patients, has_told))) {
    introduce(patients);
    meeting = Meeting::at;
  }
  if (meeting != Meeting::at) return;
  for (Patient& each : patients)
    if (!each.introduced) each.talker.end_input();  // too late
  const auto has_met = [](const Patient& p) {
    return p.talker.has_ended() || !p.introduced || !told_by(p, "met").empty();
  };
  if (!std::ranges::all_of(patients, has_met)) return;
  for (Patient& each : patients) each.talker.end_input();
  meeting = Meeting::over;
}

void hear_all(std::vector<Patient>& patients) {
  std::vector<Talker*> talkers;
  for (Patient& each : patients) talkers.push_back(&each.talker);
  const auto time = std::chrono::steady_clock::now() + kPatienceForMeeting;
  Meeting meeting = Meeting::before;
  Talker::hear(talkers, kPatience, [&] { go_on(patients, meeting, std::chrono::steady_clock::now() >= time); });
  for (Patient& each : patients) {
    each.late = !each.talker.has_ended();
    each.talker.end();
  }
}

Findings findings_of(const Patient& patient) {
  Findings out;
  std::string complaint, version;
  std::istringstream lines(patient.talker.text());
  for (std::string line; std::getline(lines, line);) {
    Finding finding;
    if (line.starts_with("version\t"))
      version = line.substr(8);
    else if (read_line(line, finding))
      out.push_back(std::move(finding));
    else if (complaint.empty() && !line.empty())
      complaint = printable(line);
  }
  if (patient.late)
    return {{Health::bad, "remote shell",
             fmt::format("'{}' has not come to an end after {} s", patient.shell, kPatience.count()),
             fmt::format("try '{} true', which should end at once", patient.shell)}};
  if (out.empty()) {
    const int code = patient.talker.exit_code();
    const bool absent = code == 126 || code == 127;
    return {{Health::bad, absent ? "installation" : "remote shell",
             fmt::format("'{}' ended with code {}{}{}", patient.shell, code, complaint.empty() ? "" : ": ", complaint),
             absent ? std::string("install Tutti at the same path on all nodes")
                    : fmt::format("'{} true' has to work without a password: see ssh-copy-id(1), and the host's key",
                                  patient.shell)}};
  }
  if (version != TUTTI_VERSION)
    out.push_back({Health::bad, "version", fmt::format("it has Tutti {}, and this node {}", version, TUTTI_VERSION),
                   "install one version on all nodes: its daemons talk to no other"});
  return out;
}

}  // namespace

std::string as_line(const Finding& finding) {
  const auto plain = [](std::string text) {
    std::ranges::replace_if(text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
    return text;
  };
  return fmt::format("{}\t{}\t{}\t{}\n", static_cast<int>(finding.health), plain(finding.what), plain(finding.text),
                     plain(finding.advice));
}

bool read_line(std::string_view line, Finding& finding) {
  std::string_view fields[4];
  for (std::string_view& field : fields) {
    const size_t tab = std::min(line.find('\t'), line.size());
    field = line.substr(0, tab);
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  if (fields[0].size() != 1 || fields[0][0] < '0' || fields[0][0] > '2' || fields[1].empty()) return false;
  finding = {static_cast<Health>(fields[0][0] - '0'), printable(fields[1]), printable(fields[2]), printable(fields[3])};
  return true;
}

std::vector<NodeFindings> ask_other_nodes(const Allocation& allocation) {
  std::vector<Patient> patients;
  const Listener own_port;
  std::error_code problem;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", problem).string();
  for (const Host& host : allocation.hosts) {
    if (host.own) continue;
    Patient& patient = patients.emplace_back();
    patient.node = host.name;
    std::vector<std::string> command = shell_to(host, allocation);
    for (const std::string& word : command) patient.shell += (patient.shell.empty() ? "" : " ") + word;
    if (command[0] == "srun")  // without a shell
      command.insert(command.end(), {own, "doctor", "--lines", "--reach", own_port.target()});
    else
      command.push_back(fmt::format("exec {} doctor --lines --reach {}", launcher::quoted(own), own_port.target()));
    patient.talker.begin(command, Talker::Input::told);
  }
  hear_all(patients);
  std::vector<NodeFindings> out;
  for (const Patient& patient : patients) out.push_back({patient.node, findings_of(patient)});
  return out;
}

}  // namespace tutti::launcher
