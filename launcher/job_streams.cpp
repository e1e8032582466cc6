// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/job_streams.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"

namespace tutti::launcher {

namespace {

// Standard output and standard error: a terminal, or a file.
bool go_to_one_place() {
  struct stat out{}, err{};
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
         out.st_ino == err.st_ino;
}

}  // namespace

JobStreams::JobStreams(Loop& loop, JobNodes& nodes, const OutputShape& shape, Means job)
    : loop_(loop), nodes_(nodes), files_(shape), job_(std::move(job)), one_place_(go_to_one_place()) {
  const auto written = [this](int node, size_t room) {
    if (room > 0) nodes_.node(node).output_taken(room);
    job_.written();
  };
  const auto closed = [this] {
    unwanted_ = true;  // such as '| head': the end of a pipe is no failure worth a sentence
    job_.cannot_go_on(128 + SIGPIPE, "");
  };
  out_ = std::make_unique<Writer>(loop, STDOUT_FILENO, Writer::Events{written, closed, [this](const std::string& why) {
                                                                        lost_output("output", why);
                                                                      }});
  err_ = std::make_unique<Writer>(loop, STDERR_FILENO,
                                  Writer::Events{written, [] {},
                                                 [this](const std::string& why) {
                                                   // The one place where it can still be read.
                                                   out_->put(0, "tutti: error: " + lost_output("error", why) + "\n", 0);
                                                 }});
  in_ = std::make_unique<Reader>(
      loop, STDIN_FILENO, [this](std::string bytes) { read(std::move(bytes)); },
      [this](const std::string& why) {
        job_.cannot_go_on(1, fmt::format("mpirun cannot read its standard input: {}; the job ends", why));
      });
}

void JobStreams::read(std::string bytes) {
  if (input_rank_ == kEveryRank) {
    const Common<std::string> common(std::move(bytes));
    for (JobNodes::State& each : nodes_.all())
      if (!each.lost) each.node->give_input(common);
    return;
  }
  const bool exists = static_cast<size_t>(input_rank_) < nodes_.map().ranks.size();
  JobNodes::State& reader = nodes_[exists ? nodes_.node_of(input_rank_) : 0];
  if (!reader.lost) reader.node->give_input(Common<std::string>(std::move(bytes)));
}

std::string JobStreams::lost_output(const char* stream, const std::string& why) {
  std::string sentence = fmt::format("mpirun cannot write its standard {}: {}; the job ends", stream, why);
  job_.cannot_go_on(1, sentence);
  return sentence;
}

void JobStreams::drop_if_unwanted() {
  if (!unwanted_) return;
  patience_ = loop_.after(std::chrono::milliseconds(200), [this] {
    out_->drop_all();
    err_->drop_all();
    job_.written();
  });
}

void JobStreams::output(int node, int rank, OutputStream stream, std::string bytes) {
  const size_t room = bytes.size();
  if (files_.any()) {
    if (Error e = files_.write(rank, stream, nodes_.name(node), nodes_.map().id, bytes))
      job_.cannot_go_on(1, e.message());
    if (!files_.shape().copy) bytes.clear();
  }
  const bool to_out = stream == OutputStream::out || files_.shape().merge;
  std::string text = files_.with_tags(rank, std::move(bytes));
  if (!text.empty() && (!to_out || one_place_)) leave_line_open(text.back() != '\n');
  (to_out ? out_ : err_)->put(node, std::move(text), room);
}

void JobStreams::note(int node, const std::string& line) {
  err_->put(node, (close_line() ? "\ntutti: " : "tutti: ") + printable(line) + "\n", 0);
}

void JobStreams::remark(Level level, const std::string& line) {
  constexpr size_t most = 10;  // of a node that cannot stop
  if (remarks_.size() < most && remarks_.insert(line).second) say(level, "{}", printable(line));
}

// Where all ranks read the same, the slowest node says when there is more.
void JobStreams::input_wanted(int node) {
  if (input_rank_ != kEveryRank) return in_->want();
  input_wanted_by_.insert(node);
  input_wanted_if_by_all();
}

void JobStreams::input_wanted_if_by_all() {
  if (input_wanted_by_.empty()) return;
  for (int n = 0; n < nodes_.count(); ++n)
    if (!nodes_[n].lost && !input_wanted_by_.contains(n)) return;
  input_wanted_by_.clear();
  in_->want();
}

}  // namespace tutti::launcher
