// SPDX-License-Identifier: BSD-3-Clause
#include "model/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "base/bytes_text.hpp"

namespace tutti::model {
namespace {

using Kind = coll::Step::Kind;

constexpr double kLeft = 80, kTop = 70, kRow = 22, kBar = 14, kWidth = 1100, kBelow = 60;

// In classes of the style sheet below, which has a colour for light and for dark each.
std::string_view class_of(Kind kind) {
  switch (kind) {
    case Kind::send:
      return "send";
    case Kind::recv:
      return "recv";
    case Kind::reduce:
      return "reduce";
    case Kind::copy:
    case Kind::show:
    case Kind::take:
      return "copy";
    case Kind::await:
    case Kind::claim:
      return "wait";
    default:
      return "word";
  }
}

constexpr std::string_view kStyle = R"(<style>
svg{background:#fff;font:12px sans-serif} text{fill:#222} .axis{stroke:#ccc} .node{stroke:#888}
.send{fill:#2f6fb7} .recv{fill:#5aa9e6} .reduce{fill:#c8553d} .copy{fill:#4f9d69} .wait{fill:#d9d9d9} .word{fill:#8e7cc3}
.message{stroke:#444;stroke-width:.7;fill:none;opacity:.55}
@media (prefers-color-scheme: dark){
svg{background:#161616} text{fill:#ddd} .axis{stroke:#444} .node{stroke:#888} .wait{fill:#3c3c3c} .message{stroke:#bbb}}
</style>
)";

// The least of 1, 2 and 5 times a power of ten that is not less.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= value) return step * power;
  return 10 * power;
}

std::string in_words(const Moment& moment) {
  constexpr std::string_view kNames[] = {"send", "receive", "reduce",  "copy",  "show",  "expect", "take",
                                         "join", "claim",   "publish", "await", "leave", "linger"};
  std::string text(kNames[static_cast<size_t>(moment.kind)]);
  if (moment.bytes > 0) text += " " + bytes_text(static_cast<double>(moment.bytes));
  if (moment.kind == Kind::send) text += fmt::format(" to {}", moment.peer);
  if (moment.kind == Kind::recv) text += fmt::format(" from {}", moment.peer);
  return fmt::format("rank {}, step {}: {}, {} to {}", moment.rank, moment.step, text, time_text(moment.from),
                     time_text(moment.over));
}

class Page {
 public:
  Page(const Job& job, double end) : job_(job), end_(end > 0 ? end : 1e-9), scale_(kWidth / end_) {}

  double x(double seconds) const { return kLeft + seconds * scale_; }
  static double y(int rank) { return kTop + rank * kRow; }

  void begin(const std::string& title) {
    const double height = y(job_.ranks) + kBelow;
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}",
        kLeft + kWidth + 40, height, title, kStyle);
    text_ += fmt::format("<text x=\"{}\" y=\"24\" font-size=\"15\">{}</text>\n", kLeft, title);
    key();
    const double step = round_up(end_ / 8);
    for (int i = 0; i * step <= end_; ++i) {
      text_ += fmt::format("<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n",
                           x(i * step), kTop - 6, y(job_.ranks));
      text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(i * step),
                           y(job_.ranks) + 18, time_text(i * step));
    }
    for (int rank = 0; rank < job_.ranks; ++rank) {
      text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 10,
                           y(rank) + kBar - 2, rank);
      if (rank > 0 && rank % job_.node_ranks == 0)
        text_ += fmt::format("<line class=\"node\" x1=\"20\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\"/>\n",
                             kLeft + kWidth, y(rank) - 4);
    }
  }
  void bar(const Moment& moment) {
    const double width = std::max(x(moment.over) - x(moment.from), 1.0);
    text_ += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" "
        "opacity=\".75\"><title>{}</title></rect>\n",
        class_of(moment.kind), x(moment.from), y(moment.rank), width, kBar, in_words(moment));
  }
  void line(const Moment& send, const Moment& receive) {
    text_ += fmt::format("<line class=\"message\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                         x(send.from), y(send.rank) + kBar / 2, x(receive.over), y(receive.rank) + kBar / 2);
  }
  std::string end() { return std::move(text_) + "</svg>\n"; }

 private:
  void key() {
    constexpr std::pair<std::string_view, std::string_view> kKey[] = {
        {"send", "send"}, {"recv", "receive"},         {"reduce", "reduce"},
        {"copy", "copy"}, {"wait", "wait for a word"}, {"word", "write a word"}};
    double at = kLeft;
    for (const auto& [name, words] : kKey) {
      text_ += fmt::format(
          "<rect class=\"{0}\" x=\"{1:.0f}\" y=\"36\" width=\"12\" height=\"12\"/>"
          "<text x=\"{2:.0f}\" y=\"46\">{3}</text>\n",
          name, at, at + 17, words);
      at += 40 + 8 * static_cast<double>(words.size());
    }
  }

  const Job job_;
  const double end_, scale_;
  std::string text_;
};

}  // namespace

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} us", seconds * 1e6);
}

std::string drawing_of(const Job& job, std::vector<Moment> moments, const std::string& title) {
  double end = 0;
  for (const Moment& moment : moments) end = std::max(end, moment.over);
  Page page(job, end);
  page.begin(title);
  // What takes longest lies below.
  std::ranges::stable_sort(moments, [](const Moment& a, const Moment& b) { return a.over - a.from > b.over - b.from; });
  std::map<std::tuple<int, int, int>, const Moment*> sends;  // by sender, receiver and number
  for (const Moment& moment : moments) {
    page.bar(moment);
    if (moment.kind == Kind::send) sends[{moment.rank, moment.peer, moment.slot}] = &moment;
  }
  for (const Moment& moment : moments) {
    if (moment.kind != Kind::recv) continue;
    const auto sent = sends.find({moment.peer, moment.rank, moment.slot});
    if (sent != sends.end()) page.line(*sent->second, moment);
  }
  return page.end();
}

}  // namespace tutti::model
