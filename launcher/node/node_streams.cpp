// SPDX-License-Identifier: BSD-3-Clause
// The standard streams of a node's ranks. Output goes up by whole lines, and no more than
// kOutputWindow of it is under way: a slow reader holds the ranks' pipes, not memory.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "launcher/node/node_agent.hpp"

namespace tutti::launcher {
namespace {
constexpr size_t kOutputWindow = 4 << 20;
constexpr size_t kReadSize = 64 << 10;
}  // namespace

void NodeAgent::open_streams(Rank& rank, const Child& child) {
  rank.streams[0].fd = child.out;
  rank.streams[1].fd = child.err;
  for (int i = 0; i < 2; ++i)
    if (!paused_) watch_stream(rank, i);
  if (child.in < 0) return;
  Input& input = *inputs_.emplace_back(std::make_unique<Input>());
  input.fd = child.in;
  // Once the last of them is there.
  if (task_.input_rank != kEveryRank || inputs_.size() == task_.map.ranks_on(task_.node).size()) want_input();
}

void NodeAgent::want_input() {
  if (input_ended_ || input_asked_) return;
  for (const auto& input : inputs_)
    if (!input->bytes.empty()) return;
  // Where nobody reads any more, other nodes' ranks may.
  const bool any = std::ranges::any_of(inputs_, [](const auto& input) { return input->fd >= 0; });
  if (!any && task_.input_rank != kEveryRank) return;
  input_asked_ = true;
  job_.input_wanted(task_.node);
}

void NodeAgent::watch_stream(Rank& rank, int index) {
  rank.streams[index].watch =
      loop_.readable(rank.streams[index].fd, [this, &rank, index] { read_stream(rank, index); });
}

bool NodeAgent::read_stream(Rank& rank, int index) {
  Pipe& pipe = rank.streams[index];
  if (pipe.fd < 0 || paused_) return false;
  char bytes[kReadSize];
  const ssize_t n = ::read(pipe.fd, bytes, sizeof bytes);
  if (n > 0) {
    send_output(rank.rank, index, pipe.lines.add({bytes, static_cast<size_t>(n)}));
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  send_output(rank.rank, index, pipe.lines.take_rest());
  pipe.watch.reset();
  ::close(std::exchange(pipe.fd, -1));
  return false;
}

void NodeAgent::drain(Rank& rank) {
  for (int i = 0; i < 2; ++i)
    while (read_stream(rank, i)) continue;
}

void NodeAgent::send_output(int rank, int index, std::string bytes) {
  if (bytes.empty()) return;
  output_waiting_ += bytes.size();
  job_.output(task_.node, rank, index == 0 ? Stream::out : Stream::err, std::move(bytes));
  if (output_waiting_ <= kOutputWindow || std::exchange(paused_, true)) return;
  for (auto& [number, each] : ranks_)
    for (Pipe& pipe : each->streams) pipe.watch.reset();
}

void NodeAgent::output_taken(size_t bytes) {
  output_waiting_ -= std::min(bytes, output_waiting_);
  if (!paused_ || output_waiting_ > kOutputWindow / 2) return;
  paused_ = false;
  for (auto& [number, rank] : ranks_)
    for (int i = 0; i < 2; ++i)
      if (rank->streams[i].fd >= 0) watch_stream(*rank, i);
}

bool NodeAgent::streams_closed() const {
  for (const auto& [number, rank] : ranks_)
    for (const Pipe& pipe : rank->streams)
      if (pipe.fd >= 0) return false;
  return true;
}

void NodeAgent::give_input(std::string bytes) {
  input_asked_ = false;
  if (bytes.empty()) input_ended_ = true;
  for (const auto& input : inputs_) {
    input->bytes += bytes;
    flush_input(*input);
  }
  want_input();
}

void NodeAgent::flush_input(Input& input) {
  while (input.fd >= 0 && !input.bytes.empty()) {
    const ssize_t n = ::write(input.fd, input.bytes.data(), input.bytes.size());
    if (n > 0) {
      input.bytes.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      if (!input.watch)
        input.watch = loop_.writable(input.fd, [this, &input] {
          flush_input(input);
          want_input();
        });
      return;
    } else if (errno != EINTR) {
      input.bytes.clear();  // the rank reads no more
      input.watch.reset();
      ::close(std::exchange(input.fd, -1));
    }
  }
  input.watch.reset();
  if (input.fd < 0)
    input.bytes.clear();
  else if (input_ended_)
    ::close(std::exchange(input.fd, -1));
}

}  // namespace tutti::launcher
