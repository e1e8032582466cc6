// SPDX-License-Identifier: BSD-3-Clause
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/config.hpp"
#include "base/printable.hpp"
#include "launcher/ask/doctor.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/node/spawn.hpp"

namespace tutti::launcher {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int kMillisecondsEach = 3000;  // for a connection

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
};

void hear_all(std::vector<Patient>& patients) {
  std::vector<Talker*> talkers;
  for (Patient& each : patients) talkers.push_back(&each.talker);
  Talker::hear(talkers, kPatience);
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

int listener(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, SOMAXCONN) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  return fd;
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
  int port = 0;
  const int fd = listener(port);
  std::string addresses = "127.0.0.1";  // of a node that shares our network
  for (const std::string& each : own_addresses())
    if (each.find(':') == each.npos) addresses.insert(0, each + ",");
  std::error_code problem;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", problem).string();
  for (const Host& host : allocation.hosts) {
    if (host.own) continue;
    Patient& patient = patients.emplace_back();
    patient.node = host.name;
    std::vector<std::string> command = shell_to(host, allocation);
    for (const std::string& word : command) patient.shell += (patient.shell.empty() ? "" : " ") + word;
    const std::string target = fmt::format("{}:{}", addresses, port);
    if (command[0] == "srun")  // without a shell
      command.insert(command.end(), {own, "doctor", "--lines", "--reach", target});
    else
      command.push_back(fmt::format("exec {} doctor --lines --reach {}", launcher::quoted(own), target));
    patient.talker.begin(command);
  }
  hear_all(patients);
  if (fd >= 0) ::close(fd);
  std::vector<NodeFindings> out;
  for (const Patient& patient : patients) out.push_back({patient.node, findings_of(patient)});
  return out;
}

Finding look_at_way_back(const std::string& target) {
  const size_t colon = std::min(target.rfind(':'), target.size());
  const std::string port = colon < target.size() ? target.substr(colon + 1) : "";
  std::istringstream list(target.substr(0, colon));
  std::string tried;
  for (std::string address; std::getline(list, address, ',');) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) continue;
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why = 0;
    if (::connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
      why = errno;
      pollfd ready{fd, POLLOUT, 0};
      socklen_t size = sizeof why;
      if (why == EINPROGRESS && (why = ETIMEDOUT, ::poll(&ready, 1, kMillisecondsEach) == 1))
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
    }
    ::freeaddrinfo(found);
    ::close(fd);
    if (why == 0) return {Health::good, "way back", fmt::format("mpirun's node is reached at {}", address)};
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address, std::strerror(why));
  }
  return {Health::bad, "way back", fmt::format("no address of mpirun's node is reached ({})", tried),
          "let the firewall pass all ports between the nodes of the cluster: daemons and ranks choose free ones"};
}

}  // namespace tutti::launcher
