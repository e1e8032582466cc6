// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <system_error>
#include <type_traits>

#include "base/file_text.hpp"
#include "base/printable.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr std::string_view kFirstWord = "tutti-profile";

// A line that is written. The functions below give its fields in their order, of either kind of line.
class Writer {
 public:
  Writer(std::string& out, std::string_view word) : out_(out) { out_ += word; }
  ~Writer() { out_ += '\n'; }
  Writer(const Writer&) = delete;

  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      fmt::format_to(std::back_inserter(out_), "\t{}", value);
    else
      fmt::format_to(std::back_inserter(out_), "\t{}", static_cast<int64_t>(value));
  }
  template <class T>
  void maybe(const T& value) {
    (*this)(value);
  }
  template <class T>
  void rest(const std::vector<T>& list) {
    for (const T& each : list) (*this)(each);
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view line) : rest_(line) { word_ = next(); }
  std::string_view word() const { return word_; }
  bool good() const { return good_; }

  template <class T>
  void operator()(T& value) {
    if (at_end_) return void(good_ = false);
    const std::string_view field = next();
    if constexpr (std::is_same_v<T, std::string>) {
      value = printable(field);
    } else {
      int64_t number = 0;
      const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), number);
      value = static_cast<T>(number);
      good_ &= problem == std::errc() && end == field.data() + field.size() && static_cast<int64_t>(value) == number;
    }
  }
  // One that files of the same version may lack.
  template <class T>
  void maybe(T& value) {
    if (!at_end_) (*this)(value);
  }
  template <class T>
  void rest(std::vector<T>& list) {
    while (!at_end_ && good_) (*this)(list.emplace_back());
  }

 private:
  std::string_view next() {
    const size_t tab = rest_.find('\t');
    const std::string_view field = rest_.substr(0, tab);
    at_end_ = tab == rest_.npos;
    rest_.remove_prefix(at_end_ ? rest_.size() : tab + 1);
    return field;
  }
  std::string_view rest_, word_;
  bool at_end_ = false, good_ = true;
};

template <class Line>
void rank_line(Line& line, RankProfile& v) {
  line(v.rank), line(v.size), line(v.node), line(v.program), line(v.ended), line(v.begun), line(v.over);
  line(v.every), line(v.open_site), line(v.lost_sites), line(v.overlapped), line(v.exposed);
}
template <class Line>
void site_line(Line& line, ProfileSite& v) {
  line(v.function), line(v.place), line(v.region), line(v.calls), line(v.collectives), line(v.bytes), line(v.time);
}
template <class Line>
void file_line(Line& line, ProfileFileUse& v) {
  line(v.pieces), line(v.bytes), line(v.unaligned), line(v.time);
}
template <class Line>
void culprit_line(Line& line, ProfileCulprit& v) {
  line(v.kind), line(v.process), line(v.time);
}
template <class Line>
void collective_line(Line& line, ProfileCollective& v) {
  line(v.site), line(v.leader), line(v.context), line(v.serial), line(v.entered), line(v.waits_from), line(v.left);
  line.maybe(v.at_file);
}

template <class Line>
void timeline_line(Line& line, ProfileTimeline& v) {
  line(v.period), line(v.least), line(v.every), line(v.unnamed_messages), line(v.other_peers_bytes);
}
template <class Line>
void span_line(Line& line, ProfileSpan& v) {
  line(v.site), line(v.begun), line(v.over), line(v.waited), line(v.waits_to), line(v.kind), line(v.process);
  line.maybe(v.thread);
}
template <class Line>
void message_line(Line& line, ProfileMessage& v) {
  line(v.is_receive), line(v.process), line(v.context), line(v.tag), line(v.number), line(v.at), line(v.bytes);
  line.maybe(v.thread);
}
template <class Line>
void peer_line(Line& line, ProfilePeer& v) {
  line(v.process), line(v.messages), line(v.bytes);
}

void add_lengths(std::string& out, std::string_view word, const std::vector<uint64_t>& messages,
                 const std::vector<uint64_t>& bytes) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i] == 0) continue;
    Writer line(out, word);
    line(i), line(messages[i]), line(bytes[i]);
  }
}
bool take_lengths(Reader& line, std::vector<uint64_t>& messages, std::vector<uint64_t>& bytes) {
  size_t at = 0;
  uint64_t of = 0, length = 0;
  line(at), line(of), line(length);
  if (!line.good() || at >= 64) return false;
  if (messages.size() <= at) messages.resize(at + 1), bytes.resize(at + 1);
  messages[at] = of, bytes[at] = length;
  return true;
}

template <class Each>
void add_lines(std::string& out, std::string_view word, std::vector<Each>& all, void (*fields)(Writer&, Each&)) {
  for (Each& each : all) {
    Writer line(out, word);
    fields(line, each);
  }
}

void add_site(std::string& out, ProfileSite& site) {
  {
    Writer line(out, "site");
    site_line(line, site);
  }
  if (site.file.pieces > 0) {
    Writer line(out, "pieces");
    file_line(line, site.file);
  }
  Writer(out, "waited").rest(site.waited);
  Writer(out, "batches").rest(site.batches);
  Writer(out, "durations").rest(site.durations);
  add_lines(out, "culprit", site.culprits, culprit_line<Writer>);
}

void add_timeline(std::string& out, ProfileTimeline& timeline) {
  if (timeline.period == 0) return;
  {
    Writer line(out, "timeline");
    timeline_line(line, timeline);
  }
  for (const std::vector<int64_t>& doing : timeline.spent) Writer(out, "spent").rest(doing);
  add_lines(out, "span", timeline.spans, span_line<Writer>);
  add_lines(out, "message", timeline.messages, message_line<Writer>);
  add_lines(out, "peer", timeline.peers, peer_line<Writer>);
}

void add_rank(std::string& out, RankProfile rank) {
  {
    Writer line(out, "rank");
    rank_line(line, rank);
  }
  add_lengths(out, "sent", rank.sent, rank.sent_bytes);
  add_lengths(out, "received", rank.received, rank.received_bytes);
  if (rank.file_unit > 0) {
    Writer line(out, "unit");
    line(rank.file_unit);
  }
  add_lines(out, "file", rank.files, file_line<Writer>);
  for (ProfileSite& site : rank.sites) add_site(out, site);
  add_lines(out, "collective", rank.collectives, collective_line<Writer>);
  add_timeline(out, rank.timeline);
}

// A line that belongs to the latest site; whether it is one of those.
bool take_site_line(Reader& line, ProfileSite& site) {
  if (line.word() == "pieces") return file_line(line, site.file), true;
  if (line.word() == "waited") return line.rest(site.waited), true;
  if (line.word() == "batches") return line.rest(site.batches), true;
  if (line.word() == "durations") return line.rest(site.durations), true;
  if (line.word() == "culprit") return culprit_line(line, site.culprits.emplace_back()), true;
  return false;
}

bool take_timeline_line(Reader& line, ProfileTimeline& timeline) {
  if (line.word() == "timeline") return timeline_line(line, timeline), true;
  if (line.word() == "spent") return line.rest(timeline.spent.emplace_back()), true;
  if (line.word() == "span") return span_line(line, timeline.spans.emplace_back()), true;
  if (line.word() == "message") return message_line(line, timeline.messages.emplace_back()), true;
  if (line.word() == "peer") return peer_line(line, timeline.peers.emplace_back()), true;
  return false;
}

// False: its numbers are none, or it stands where it cannot.
bool take(Reader& line, std::vector<RankProfile>& ranks) {
  if (line.word() == "rank") {
    rank_line(line, ranks.emplace_back());
    return line.good();
  }
  if (ranks.empty()) return false;
  RankProfile& rank = ranks.back();
  if (line.word() == "site") {
    site_line(line, rank.sites.emplace_back());
  } else if (line.word() == "unit") {
    line(rank.file_unit);
  } else if (line.word() == "file") {
    file_line(line, rank.files.emplace_back());
  } else if (line.word() == "sent") {
    return take_lengths(line, rank.sent, rank.sent_bytes);
  } else if (line.word() == "received") {
    return take_lengths(line, rank.received, rank.received_bytes);
  } else if (line.word() == "collective") {
    collective_line(line, rank.collectives.emplace_back());
  } else if (!take_timeline_line(line, rank.timeline) && !rank.sites.empty()) {
    take_site_line(line, rank.sites.back());
  }
  return line.good();
}

}  // namespace

std::string profile_as_lines(const std::vector<RankProfile>& ranks) {
  std::string out = fmt::format("{}\t{}\n", kFirstWord, kProfileVersion);
  for (const RankProfile& rank : ranks) add_rank(out, rank);
  return out;
}

Result<std::vector<RankProfile>> profile_of_lines(std::string_view text) {
  std::vector<RankProfile> ranks;
  for (int number = 1; !text.empty() || number == 1; ++number) {
    const size_t end = text.find('\n');
    Reader line(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (number == 1) {
      int version = 0;
      line(version);
      if (line.word() != kFirstWord || !line.good())
        return failure(MPI_ERR_FILE, "it is no profile of mpirun --profile=FILE, which begins with '{}'", kFirstWord);
      if (version != kProfileVersion)
        return failure(MPI_ERR_FILE, "it is a profile of version {}, and this Tutti reads version {}", version,
                       kProfileVersion);
    } else if (end == text.npos || !take(line, ranks)) {
      return failure(MPI_ERR_FILE, "line {} is not as one that begins with '{}' should be{}", number,
                     printable(line.word()), text.empty() ? ": the file may be cut off" : "");
    }
  }
  for (const RankProfile& rank : ranks)
    if (!is_sound(rank)) return failure(MPI_ERR_FILE, "the numbers of rank {} name what there is not", rank.rank);
  return ranks;
}

Error write_whole(const std::string& path, std::string_view text) {
  // What is no file, as /dev/stdout or a pipe, is written to as it is.
  struct stat about{};
  const bool in_place = ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  const std::string beside = in_place ? path : fmt::format("{}.{}", path, ::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (in_place ? 0 : O_TRUNC | O_EXCL), 0666);
  int problem = fd < 0 ? errno : 0;
  for (std::string_view rest = text; !problem && !rest.empty();) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) problem = errno;
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
  }
  if (fd >= 0 && ::close(fd) != 0 && !problem) problem = errno;
  if (!problem && !in_place && std::rename(beside.c_str(), path.c_str()) != 0) problem = errno;
  if (!problem) return {};
  if (fd >= 0 && !in_place) ::unlink(beside.c_str());
  return failure(MPI_ERR_FILE, "{} cannot be written: {}", path, std::strerror(problem));
}

Result<std::vector<RankProfile>> read_profile(const std::string& path) {
  Result<std::string> text = text_of(path);
  if (!text) return std::move(text).error().within(path);
  Result<std::vector<RankProfile>> ranks = profile_of_lines(*text);
  if (!ranks) return std::move(ranks).error().within(path);
  return ranks;
}

}  // namespace tutti::launcher
