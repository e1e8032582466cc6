// SPDX-License-Identifier: BSD-3-Clause
// `tutti top`: a job, live in the terminal. It asks as `tutti why` does, once in an interval, and leaves the ranks alone.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <ratio>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/found_ranks.hpp"
#include "launcher/ask/top_view.hpp"
#include "launcher/ask/why_text.hpp"

namespace tutti::launcher {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    "Usage: tutti top [--once] [--json] [--interval SECONDS] [JOB]\n"
    "Shows a running job: what each rank does, its calls and bytes a second, for whom it waits,\n"
    "and who is unlike most.\n"
    "JOB is a part of a job's name, where there are several. --once prints that and ends, --json as JSON.\n";

struct Options {
  bool help = false, once = false, json = false;
  std::string job;
  std::chrono::milliseconds interval{1000};
};

// An empty result has been told.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "--once") {
      out.once = true;
    } else if (word == "--json") {
      out.json = out.once = true;
    } else if (word == "--interval") {
      double seconds = 0;
      const std::string value = i + 1 < arguments.size() ? arguments[++i] : "";
      const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
      if (problem != std::errc() || end != value.data() + value.size() || !(seconds >= 0.1 && seconds <= 3600))
        return say(Level::error, "--interval takes seconds, from 0.1 to 3600, not '{}'", value), std::nullopt;
      out.interval = std::chrono::milliseconds(static_cast<int>(seconds * 1000));
    } else if (word.starts_with("-") || word.empty() || !out.job.empty()) {
      return say(Level::error, "tutti top takes --once, --json, --interval SECONDS and one job, not '{}'", word),
             std::nullopt;
    } else {
      out.job = word;
    }
  }
  return out;
}

// Of one job; what stands in the way of it has been told.
std::optional<Look> look_at(const std::string& job, bool first) {
  Look look{Clock::now(), find_ranks(job, {})};
  std::set<std::string> jobs;
  for (const RankView& rank : look.view.ranks) jobs.insert(rank.job);
  if (jobs.empty()) {
    if (first) {
      for (const std::string& note : look.view.notes) say(Level::warning, "{}", note);
      say(Level::error, "no running job{} is seen from this node; those with --check=off never are",
          job.empty() ? " of yours" : fmt::format(" whose name contains '{}'", job));
    }
    return std::nullopt;
  }
  if (jobs.size() > 1) {
    say(Level::error, "several jobs run here, such as {} and {}: name one", *jobs.begin(), *jobs.rbegin());
    return std::nullopt;
  }
  return look;
}

volatile sig_atomic_t ended_by = 0;  // a signal that asks this command to end

// A terminal without lines and echo, on a screen of its own; as it was when this is gone, also where a signal ends us.
class Screen {
 public:
  Screen() {
    ::tcgetattr(STDIN_FILENO, &saved_);
    termios raw = saved_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);  // Ctrl-C is a key
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    // Without SA_RESTART: key() returns, whereupon the screen is drawn again, or is left.
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGWINCH, &action, nullptr);
    action.sa_handler = [](int number) { ended_by = number; };
    for (const int number : {SIGTERM, SIGHUP, SIGINT}) ::sigaction(number, &action, nullptr);
    write("\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    write("\x1b[?25h\x1b[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  }
  Screen(const Screen&) = delete;

  static std::pair<int, int> size() {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return known ? std::pair<int, int>{size.ws_col, size.ws_row} : std::pair{100, 30};
  }
  // Lines that fit. The last one has no end, which would move the others up.
  static void show(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    std::string out = "\x1b[H";
    for (const char c : text) out += c == '\n' ? std::string("\x1b[K\r\n") : std::string(1, c);
    write(out + "\x1b[K\x1b[J");
  }
  // What is pressed within some time: a key, 'A' and 'B' with the eighth bit for up and down; 0: nothing, -1: the terminal
  // is gone, or a signal asks to end.
  static int key(std::chrono::milliseconds patience) {
    pollfd waits{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ended_by ? 0 : ::poll(&waits, 1, static_cast<int>(patience.count()));
    if (ended_by) return -1;
    if (ready <= 0) return 0;
    char bytes[8] = {};
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count <= 0) return -1;
    return count >= 3 && bytes[0] == '\x1b' && bytes[1] == '[' ? bytes[2] | 0x80 : static_cast<unsigned char>(bytes[0]);
  }

 private:
  static void write(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  termios saved_{};
};
constexpr int kUp = 'A' | 0x80, kDown = 'B' | 0x80;

class Top {
 public:
  Top(std::string job, std::chrono::milliseconds interval, Look first)
      : job_(std::move(job)), interval_(interval), before_(first), now_(std::move(first)) {}

  // 0: somebody has pressed a key to end it, or the job is over, which is told.
  int operator()() {
    if (watch()) return ended_by ? 128 + ended_by : 0;
    std::printf("job %s is over\n", job_.c_str());
    return 0;
  }

 private:
  enum class Page { rows, why, one };

  // Until somebody ends it; false: the job is over.
  bool watch() {
    const Screen screen;
    for (;;) {
      draw();
      const auto next = now_.at + interval_;
      const int key = Screen::key(std::max(std::chrono::milliseconds(0),
                                           std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now())));
      if (key == 'q' || key == 3 || key == 4 || key < 0) return true;
      if (key == 27 || key == '\r' || key == '\n' || key == 'w' || key == kUp || key == kDown ||
          std::strchr("rcto", key & 0x7f))
        press(key);
      if (Clock::now() < next) continue;
      std::optional<Look> look = look_at(job_, false);
      if (!look) return false;
      before_ = std::exchange(now_, std::move(*look));
    }
  }
  void press(int key) {
    if (key == 0) return;
    if (key == 'r') shape_.order = TopOrder::rank;
    if (key == 'c') shape_.order = TopOrder::calls;
    if (key == 't') shape_.order = TopOrder::time;
    if (key == 'o') shape_.order = TopOrder::odd;
    if (key == 27) page_ = Page::rows;
    if (key == 'w') page_ = page_ == Page::why ? Page::rows : Page::why;
    if (key == '\r' || key == '\n') page_ = page_ == Page::one || shape_.chosen < 0 ? Page::rows : Page::one;
    if (key == kUp || key == kDown) choose(key == kUp ? -1 : 1);
  }
  void choose(int step) {
    const std::vector<TopRow> rows = top_rows(before_, now_, shape_.order);
    auto at = std::ranges::find_if(rows, [this](const TopRow& row) { return row.rank->rank == shape_.chosen; });
    const auto place = at == rows.end() ? (step > 0 ? -1 : 0) : static_cast<int>(at - rows.begin());
    shape_.chosen =
        rows[static_cast<size_t>(std::clamp<int>(place + step, 0, static_cast<int>(rows.size()) - 1))].rank->rank;
  }
  void draw() {
    std::tie(shape_.width, shape_.height) = Screen::size();
    if (page_ == Page::why) return show_text(why_text(now_.view));
    const auto chosen = std::ranges::find(now_.view.ranks, shape_.chosen, &RankView::rank);
    if (page_ == Page::one && chosen != now_.view.ranks.end()) {
      const std::string text =
          why_text({.ranks = {*chosen}, .failed = {}, .notes = {}});  // behind a line on how many are seen
      return show_text(text.substr(text.find('\n') + 1));
    }
    Screen::show(top_text(top_rows(before_, now_, shape_.order), shape_));
  }
  void show_text(const std::string& text) const {
    const bool tells = shape_.height >= 3;
    Screen::show(fitted(text, shape_.width, shape_.height - (tells ? 1 : 0)) +
                 (tells ? fitted("Esc: back   q: quit", shape_.width, 1) : ""));
  }

  const std::string job_;
  const std::chrono::milliseconds interval_;
  Look before_, now_;
  TopShape shape_;
  Page page_ = Page::rows;
};

}  // namespace

int top_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 2;
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  std::optional<Look> first = look_at(options->job, true);
  if (!first) return 1;
  const std::string job = first->view.ranks.front().job;
  if (!options->once) {
    if (::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO)) return Top(job, options->interval, std::move(*first))();
    say(Level::error, "tutti top needs a terminal; 'tutti top --once' prints what it would show");
    return 2;
  }
  ::poll(nullptr, 0, static_cast<int>(options->interval.count()));
  std::optional<Look> second = look_at(job, false);
  const Look& now = second ? *second : *first;
  const std::vector<TopRow> rows = top_rows(*first, now, TopOrder::rank);
  const TopShape shape{.width = 100'000, .height = static_cast<int>(rows.size()) + 6, .keys = false};
  std::fputs((options->json ? top_json(rows) : top_text(rows, shape)).c_str(), stdout);
  return 0;
}

}  // namespace tutti::launcher
