// SPDX-License-Identifier: BSD-3-Clause
// `tutti report`: what whoever looks into a fault asks for, as one text without names, addresses and secrets. The process
// that writes it waits for nothing for long: whatever it tells is found out by a child, which has a time limit.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>

#include "base/log.hpp"
#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/placeholders.hpp"
#include "launcher/ask/report_parts.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/ask/why.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "Usage: tutti report [-o FILE] [--job JOB] [--timeout SECONDS] [-- command [arguments]]\n"
    "Gathers what a report of a fault needs: versions, machine, limits, networks, scheduler, settings\n"
    "and what 'tutti doctor' says; of JOB what 'tutti why' does, and of a command, such as an mpirun\n"
    "that fails, what it prints at its end, and its exit code. The command gets SECONDS (300), and is\n"
    "then interrupted. Names of hosts and users, home folders and addresses are replaced, and what\n"
    "looks like a secret is left out; read it all the same before you send it. FILE must not exist.\n";

constexpr seconds kNamesLimit{10}, kWhyLimit{20};
constexpr seconds kAfterInterrupt{15};  // for mpirun to say what its ranks do, and to end them
constexpr size_t kMostOfCommand = 64 << 10, kMostOfPart = 256 << 10;

struct ReportOptions {
  bool help = false;
  std::string file, job;
  seconds timeout{300};
  std::vector<std::string> command;
};

std::optional<seconds> seconds_in(const std::string& word) {
  int number = 0;
  const char* end = word.data() + word.size();
  const auto [at, problem] = std::from_chars(word.data(), end, number);
  return problem == std::errc() && at == end && number > 0 ? std::optional(seconds(number)) : std::nullopt;
}

// An empty result has been told.
std::optional<ReportOptions> parse(const std::vector<std::string>& arguments) {
  constexpr std::string_view known[] = {"--job", "--timeout", "--output", "--help"};
  ReportOptions out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool is_last = i + 1 == arguments.size();
    if (word == "--") {
      out.command.assign(arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      if (!out.command.empty() && !out.command[0].empty()) return out;
      say(Level::error, "a command belongs behind --; try: tutti report -- mpirun -n 2 ./program");
      return std::nullopt;
    }
    if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "-o" || word == "--output" || word == "--job" || word == "--timeout") {
      if (is_last || arguments[i + 1].empty()) {
        say(Level::error, "tutti report: {} needs a value", word);
        return std::nullopt;
      }
      const std::string& value = arguments[++i];
      if (word == "--job") {
        out.job = value;
      } else if (word != "--timeout") {
        out.file = value;
      } else if (const std::optional<seconds> limit = seconds_in(value)) {
        out.timeout = *limit;
      } else {
        say(Level::error, "--timeout takes a whole number of seconds, not '{}'", value);
        return std::nullopt;
      }
    } else {
      const std::string advice = word.starts_with('-') ? did_you_mean(word, known) : "; a command stands behind --";
      say(Level::error, "tutti report takes -o FILE, --job JOB, --timeout SECONDS and -- command, not '{}'{}", word,
          advice);
      return std::nullopt;
    }
  }
  return out;
}

// The group of the child that is heard, for the handler of signals.
volatile sig_atomic_t heard_group = 0, takes_interrupts = 0;

// Ctrl-C and Ctrl-\ are the command's, and the report goes on; while anything else is heard, and for signals that mean
// us, nothing is to be left.
void on_signal(int number) {
  const pid_t group = heard_group;
  const bool is_of_command = takes_interrupts && (number == SIGINT || number == SIGQUIT);
  if (group > 0) ::kill(-group, is_of_command ? number : SIGKILL);
  if (is_of_command) return;
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void take_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

void hear(Talker& talker, seconds limit, bool is_command) {
  heard_group = talker.pid();
  takes_interrupts = is_command;
  Talker::hear({&talker}, limit);
  takes_interrupts = 0;
  heard_group = 0;
}

class Report {
 public:
  Report(int fd, Placeholders& hide) : fd_(fd), hide_(hide) {}

  // At once: whoever ends us has what there is by then.
  void print(std::string_view text) {
    std::string shown = hide_(printable(text, "\n\t"));
    if (!shown.empty() && !shown.ends_with('\n')) shown += '\n';
    for (std::string_view rest = shown; !rest.empty() && problem_ == 0;) {
      const ssize_t n = ::write(fd_, rest.data(), rest.size());
      if (n > 0) rest.remove_prefix(static_cast<size_t>(n));
      if (n < 0 && errno != EINTR) problem_ = errno;
    }
  }
  void title(std::string_view title) { print(fmt::format("\n== {}\n", title)); }
  int problem() const { return problem_; }  // of writing; 0: none

 private:
  int fd_;
  Placeholders& hide_;
  int problem_ = 0;
};

void learn(Placeholders& hide, std::string_view kind, std::string_view name) {
  if (kind == "host") hide.host(name);
  if (kind == "user") hide.user(name);
  if (kind == "home") hide.home(name);
  if (kind == "secret") hide.secret(name);
}

// The names that a child tells, a line each. False: not all of them may be known.
bool learn_names(Placeholders& hide, const std::vector<std::string>& command) {
  names_at_hand([&](std::string_view kind, std::string_view name) { learn(hide, kind, name); });
  Talker talker(kMostOfPart * 4, Talker::Keep::beginning);
  const bool is_begun = talker.begin([&command] {
    names_elsewhere(command, [](std::string_view kind, std::string_view name) {
      if (name.find('\n') == name.npos) fmt::print("{}\t{}\n", kind, name);
      std::fflush(stdout);
    });
    return 0;
  });
  if (is_begun) hear(talker, kNamesLimit, false);
  const bool is_whole = is_begun && talker.has_ended() && talker.exit_code() == 0 && talker.left_out() == 0;
  talker.end();
  std::istringstream lines(talker.text());
  for (std::string line; std::getline(lines, line);)
    if (const size_t tab = line.find('\t'); tab != line.npos) learn(hide, line.substr(0, tab), line.substr(tab + 1));
  return is_whole;
}

// Heard to its end, or to that of its time. The exit code; -1: there is none.
int print_part(Report& report, std::string_view title, seconds limit, const std::function<int()>& work) {
  report.title(title);
  Talker talker(kMostOfPart, Talker::Keep::beginning);
  if (!talker.begin(work)) {
    report.print(fmt::format("(no process can be started for this: {})", talker.text()));
    return -1;
  }
  hear(talker, limit, false);
  const bool is_late = !talker.has_ended();
  talker.end();
  report.print(talker.text());
  if (talker.left_out() > 0) report.print(fmt::format("(and {} bytes more)", talker.left_out()));
  if (is_late) report.print(fmt::format("(this has not come to an end within {} s, and was given up)", limit.count()));
  if (!is_late && talker.ended_by() > 0) report.print(fmt::format("(this was ended by signal {})", talker.ended_by()));
  return talker.exit_code();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

void print_command(Report& report, const ReportOptions& options) {
  report.title("Command: " + joined(options.command));
  Talker talker(kMostOfCommand, Talker::Keep::end);
  const auto begin = Clock::now();
  if (!talker.begin(options.command, ::isatty(STDIN_FILENO) ? Talker::Input::none : Talker::Input::ours)) {
    report.print(fmt::format("(it cannot be started: {})", talker.text()));
    return;
  }
  if (::isatty(STDERR_FILENO))
    say(Level::note, "{} has {} s; Ctrl-C ends it, and not the report", options.command[0], options.timeout.count());
  hear(talker, options.timeout, true);
  const bool is_late = !talker.has_ended();
  if (is_late) talker.signal(SIGINT);  // mpirun then says what its ranks do
  if (is_late) hear(talker, kAfterInterrupt, true);
  const bool is_stubborn = !talker.has_ended();
  talker.end();
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  if (talker.left_out() > 0) report.print(fmt::format("(the first {} bytes are left out)", talker.left_out()));
  report.print(talker.text());
  if (is_late) report.print(fmt::format("(it was interrupted after {} s)", options.timeout.count()));
  if (is_stubborn)
    report.print(fmt::format("(that did not end it within {} s; it was killed)", kAfterInterrupt.count()));
  else
    report.print(fmt::format("(exit code {}, after {:.1f} s)", talker.exit_code(), took));
}

// All of it. The exit code of what was asked for beside the machine.
int print_report(Report& report, Placeholders& hide, const ReportOptions& options) {
  const bool knows_names = learn_names(hide, options.command);
  report.print("Report of Tutti " TUTTI_VERSION
               "\n"
               "Names of hosts and users, home folders and addresses are replaced: HOST-1 is this machine, USER\n"
               "whoever ran this. What looks like a secret is left out. Read it before you send it, and say what\n"
               "you did, what you expected, and what came instead.\n");
  if (!knows_names)
    report.print("(The search for names was not finished: look for those of hosts and users yourself.)\n");
  int code = 0;
  if (!options.command.empty()) print_command(report, options);
  if (!options.job.empty() &&
      print_part(report, "Job " + options.job, kWhyLimit, [&] { return why_command({options.job}); }) != 0) {
    say(Level::error, "job {} cannot be seen whole; the report says why", options.job);
    code = 1;
  }
  for (const ReportPart& part : report_parts())
    if (report.problem() == 0) print_part(report, part.title, part.limit, part.print);
  return code;
}

// A new file for its user alone; an error has been told.
int new_file(const std::string& name) {
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    say(Level::error, "{} cannot be made: {}{}", name, std::strerror(errno),
        errno == EEXIST ? "; a report is written over nothing" : "");
    return -1;
  }
  ::fchmod(fd, 0600);  // whatever umask takes
  return fd;
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  const std::optional<ReportOptions> options = parse(arguments);
  if (!options) return 2;
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const bool is_file = !options->file.empty();
  const int fd = is_file ? new_file(options->file) : STDOUT_FILENO;
  if (fd < 0) return 1;
  take_signals();
  Placeholders hide;
  Report report(fd, hide);
  const int code = print_report(report, hide, *options);
  int problem = report.problem();
  if (is_file && ::close(fd) != 0 && problem == 0) problem = errno;  // some file systems say so only then
  if (problem != 0) {
    say(Level::error, "{} cannot be written: {}{}", is_file ? options->file : "standard output", std::strerror(problem),
        is_file ? "; without -o the report goes to standard output" : "");
    if (is_file) ::unlink(options->file.c_str());
    return 1;
  }
  if (is_file) say(Level::note, "the report is in {}; read it before you send it", options->file);
  return code;
}

}  // namespace tutti::launcher
