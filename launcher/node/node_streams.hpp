// SPDX-License-Identifier: BSD-3-Clause
// The standard streams of a node's ranks. Output goes up by whole lines, and no more than
// kOutputWindow of it is under way: a slow reader holds the ranks' pipes, not memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/data/node_contract.hpp"
#include "launcher/loop/lines.hpp"
#include "launcher/loop/loop.hpp"
#include "launcher/node/spawn.hpp"

namespace tutti::launcher {

class NodeStreams {
 public:
  NodeStreams(Loop& loop, NodeEvents& job) : loop_(loop), job_(job) {}
  ~NodeStreams();
  NodeStreams(const NodeStreams&) = delete;
  NodeStreams& operator=(const NodeStreams&) = delete;

  void begin(const NodeTask& task);  // before the first rank's
  void open(int rank, const Child& child);
  void drain(int rank);  // what it has written by now goes up
  bool are_closed() const;
  void close_input();
  // The same of Node.
  void give_input(std::string bytes);
  void output_taken(size_t bytes);

 private:
  struct Pipe {
    int fd = -1;
    Watch watch;
    LineKeeper lines;
  };
  struct Outputs {
    Pipe pipes[2];  // out, err
  };
  // Standard input of one rank, or of each that is to read the same.
  struct Input {
    int fd = -1;
    Watch watch;
    std::string bytes;
  };
  void watch(int rank, int index);
  bool read(int rank, int index);  // false: nothing more now
  void send(int rank, int index, std::string bytes);
  void flush(Input& input);
  void want_input();

  Loop& loop_;
  NodeEvents& job_;
  int node_ = 0;
  bool all_read_ = false;  // what the launcher reads
  size_t ranks_ = 0;       // of this node
  std::map<int, Outputs> outputs_;
  std::vector<std::unique_ptr<Input>> inputs_;
  bool input_ended_ = false, input_asked_ = false;
  size_t output_waiting_ = 0;  // sent to the job and not yet taken
  bool paused_ = false;
};

}  // namespace tutti::launcher
