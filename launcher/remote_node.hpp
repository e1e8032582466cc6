// SPDX-License-Identifier: BSD-3-Clause
// Both ends of the wire: a Node that is another machine's daemon, and NodeEvents that go to the
// launcher. Each packs the calls of one side; `dispatch` unpacks them on the other.
#pragma once

#include <memory>

#include "launcher/link.hpp"
#include "launcher/node.hpp"

namespace tutti::launcher {

// In the launcher. Does not own the link: it lives longer, until the daemon has gone.
class RemoteNode final : public Node {
 public:
  explicit RemoteNode(Link& link) : link_(link) {}
  void launch(NodeTask task) override;
  void signal_ranks(int signal) override { link_.send(Message::signal_ranks, signal); }
  void finish(bool at_once) override { link_.send(Message::finish, at_once); }
  void give_input(std::string bytes) override { link_.send(Message::give_input, bytes); }
  void output_taken(size_t bytes) override { link_.send(Message::output_taken, bytes); }
  void fence_done(const std::string& key, int status, const std::string& data) override {
    link_.send(Message::fence_done, key, status, data);
  }
  void find_modex(uint64_t token, int rank) override {
    link_.send(Message::find_modex, token, rank);
  }
  void modex_answer(uint64_t token, int status, const std::string& data) override {
    link_.send(Message::modex_answer, token, status, data);
  }
  void deliver_event(const std::string& packed) override {
    link_.send(Message::deliver_event, packed);
  }
  void look(Question question) override { link_.send(Message::look, question); }

 private:
  Link& link_;
};

// In the daemon.
class LauncherEvents final : public NodeEvents {
 public:
  explicit LauncherEvents(Link& link) : link_(link) {}
  void launched(int) override { link_.send(Message::launched); }
  void launch_failed(int, int exit_code, const std::string& sentence) override {
    link_.send(Message::launch_failed, exit_code, sentence);
  }
  void rank_ended(int, const RankEnd& end) override { link_.send(Message::rank_ended, end); }
  void rank_waits(int, int rank) override { link_.send(Message::rank_waits, rank); }
  void rank_aborted(int, int rank, int code, const std::string& text) override {
    link_.send(Message::rank_aborted, rank, code, text);
  }
  void output(int, int rank, Stream stream, std::string bytes) override {
    link_.send(Message::output, rank, stream, bytes);
  }
  void note(int, const std::string& line) override { link_.send(Message::note, line); }
  void input_wanted(int) override { link_.send(Message::input_wanted); }
  void fence(int, const std::string& key, const std::string& data) override {
    link_.send(Message::fence, key, data);
  }
  void modex_wanted(int, uint64_t token, int rank) override {
    link_.send(Message::modex_wanted, token, rank);
  }
  void modex_found(int, uint64_t token, int status, const std::string& data) override {
    link_.send(Message::modex_found, token, status, data);
  }
  void event(int, const std::string& packed) override { link_.send(Message::event, packed); }
  void looked(int, uint64_t number, std::vector<RankView> ranks) override {
    link_.send(Message::looked, number, ranks);
  }
  void finished(int) override { link_.send(Message::finished); }

 private:
  Link& link_;
};

// False: not such a message, or not its fields.
bool dispatch(Message type, std::string_view payload, Node& node);
bool dispatch(Message type, std::string_view payload, NodeEvents& job, int node, int ranks);

}  // namespace tutti::launcher
