// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/node_streams.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tutti::launcher {
namespace {
constexpr size_t kOutputWindow = 4 << 20;
constexpr size_t kReadSize = 64 << 10;
}  // namespace

NodeStreams::~NodeStreams() {
  for (auto& [rank, outputs] : outputs_)
    for (Pipe& pipe : outputs.pipes)
      if (pipe.fd >= 0) ::close(pipe.fd);
  close_input();
}

void NodeStreams::begin(const NodeTask& task) {
  node_ = task.node;
  all_read_ = task.input_rank == kEveryRank;
  ranks_ = task.map.ranks_on(task.node).size();
}

void NodeStreams::close_input() {
  for (const auto& input : inputs_) {
    input->watch.reset();
    if (input->fd >= 0) ::close(std::exchange(input->fd, -1));
  }
  inputs_.clear();
}

void NodeStreams::open(int rank, const Child& child) {
  Outputs& outputs = outputs_[rank];
  outputs.pipes[0].fd = child.out;
  outputs.pipes[1].fd = child.err;
  for (int i = 0; i < 2; ++i)
    if (!paused_) watch(rank, i);
  if (child.in < 0) return;
  Input& input = *inputs_.emplace_back(std::make_unique<Input>());
  input.fd = child.in;
  if (!all_read_ || inputs_.size() == ranks_) want_input();  // once the last of them is there
}

void NodeStreams::want_input() {
  if (input_ended_ || input_asked_) return;
  for (const auto& input : inputs_)
    if (!input->bytes.empty()) return;
  // Where nobody reads any more, other nodes' ranks may.
  const bool any = std::ranges::any_of(inputs_, [](const auto& input) { return input->fd >= 0; });
  if (!any && !all_read_) return;
  input_asked_ = true;
  job_.input_wanted(node_);
}

void NodeStreams::watch(int rank, int index) {
  Pipe& pipe = outputs_[rank].pipes[index];
  pipe.watch = loop_.readable(pipe.fd, [this, rank, index] { read(rank, index); });
}

bool NodeStreams::read(int rank, int index) {
  Pipe& pipe = outputs_[rank].pipes[index];
  if (pipe.fd < 0 || paused_) return false;
  char bytes[kReadSize];
  const ssize_t n = ::read(pipe.fd, bytes, sizeof bytes);
  if (n > 0) {
    send(rank, index, pipe.lines.add({bytes, static_cast<size_t>(n)}));
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  send(rank, index, pipe.lines.take_rest());
  pipe.watch.reset();
  ::close(std::exchange(pipe.fd, -1));
  return false;
}

void NodeStreams::drain(int rank) {
  if (!outputs_.contains(rank)) return;
  for (int i = 0; i < 2; ++i)
    while (read(rank, i)) continue;
}

void NodeStreams::send(int rank, int index, std::string bytes) {
  if (bytes.empty()) return;
  output_waiting_ += bytes.size();
  job_.output(node_, rank, index == 0 ? OutputStream::out : OutputStream::err, std::move(bytes));
  if (output_waiting_ <= kOutputWindow || std::exchange(paused_, true)) return;
  for (auto& [number, each] : outputs_)
    for (Pipe& pipe : each.pipes) pipe.watch.reset();
}

void NodeStreams::output_taken(size_t bytes) {
  output_waiting_ -= std::min(bytes, output_waiting_);
  if (!paused_ || output_waiting_ > kOutputWindow / 2) return;
  paused_ = false;
  for (const auto& [rank, outputs] : outputs_)
    for (int i = 0; i < 2; ++i)
      if (outputs.pipes[i].fd >= 0) watch(rank, i);
}

bool NodeStreams::are_closed() const {
  for (const auto& [rank, outputs] : outputs_)
    for (const Pipe& pipe : outputs.pipes)
      if (pipe.fd >= 0) return false;
  return true;
}

void NodeStreams::give_input(std::string bytes) {
  input_asked_ = false;
  if (bytes.empty()) input_ended_ = true;
  for (const auto& input : inputs_) {
    input->bytes += bytes;
    flush(*input);
  }
  want_input();
}

void NodeStreams::flush(Input& input) {
  while (input.fd >= 0 && !input.bytes.empty()) {
    const ssize_t n = ::write(input.fd, input.bytes.data(), input.bytes.size());
    if (n > 0) {
      input.bytes.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      if (!input.watch)
        input.watch = loop_.writable(input.fd, [this, &input] {
          flush(input);
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
