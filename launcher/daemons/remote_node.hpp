// SPDX-License-Identifier: BSD-3-Clause
// Both ends of the wire: a Node that is another machine's daemon, and NodeEvents that go to the
// launcher. Each packs the calls of one side, and unpacks what the other side says if that may come
// now (protocol.hpp).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/daemons/protocol.hpp"
#include "launcher/daemons/rank_ends.hpp"
#include "launcher/data/node_contract.hpp"
#include "launcher/data/wire.hpp"

namespace tutti::launcher {

// Brings a message to the other side: over a link of its own, or with the help of others on the way.
using SendMessage = std::function<void(Message, const Parcel& payload)>;

// In the launcher.
class RemoteNode final : public Node {
 public:
  explicit RemoteNode(SendMessage send) : send_(std::move(send)) {}
  void launch(const Common<NodeTask>& task, int node, std::span<const int> ranks) override;
  void signal_ranks(int signal) override { tell(Message::signal_ranks, signal); }
  void finish(bool at_once) override { tell(Message::finish, at_once); }
  void give_input(const Common<std::string>& bytes) override { tell_all(Message::give_input, bytes); }
  void give_file(const Common<FilePiece>& piece) override { tell_all(Message::give_file, piece); }
  void output_taken(size_t bytes) override { tell(Message::output_taken, bytes); }
  void fence_done(const Common<FenceEnd>& end) override { tell_all(Message::fence_done, end); }
  void find_modex(uint64_t token, int rank) override { tell(Message::find_modex, token, rank); }
  void modex_answer(uint64_t token, int status, const std::string& data) override {
    tell(Message::modex_answer, token, status, data);
  }
  void take_addresses(const Common<Addresses>& piece) override { tell_all(Message::take_addresses, piece); }
  void deliver_event(const std::string& packed) override { tell(Message::deliver_event, packed); }
  void ranks_failed(const std::vector<int>& ranks, const std::string& why) override {
    tell(Message::ranks_failed, ranks, why);
  }
  void reply(uint64_t number, const Reply& reply) override { tell(Message::reply, number, reply); }
  void learn(const Common<NodeTask>& kin) override { tell_all(Message::learn, kin); }
  void look(Question question) override { tell(Message::look, question); }
  void call() override { tell(Message::call); }

  // What the daemon says, for the node of this index. An error: it has no place or makes no sense.
  Error hear(Message type, std::string_view payload, NodeEvents& job, int node);

 private:
  template <class... T>
  void tell(Message type, const T&... fields) {
    talk_ = after(talk_, type);
    send_(type, wire::pack(fields...));
  }
  template <class T>
  void tell_all(Message type, const Common<T>& value) {
    talk_ = after(talk_, type);
    send_(type, value.packed([](const T& v) { return wire::pack(v); }));
  }
  bool dispatch(Message type, std::string_view payload, NodeEvents& job, int node);
  bool has(int rank) const;
  bool ends(int rank);  // false: it is none of this node, or has ended before
  bool end_alike(std::string_view payload, NodeEvents& job, int node);

  SendMessage send_;
  Talk talk_ = Talk::ready;
  std::vector<int> ranks_;   // of this node, ascending
  std::vector<bool> alive_;  // in this order
};

// In the daemon.
class LauncherEvents final : public NodeEvents {
 public:
  // `name`: of the own node. `each_failure`: as in RankEnds.
  LauncherEvents(Loop& loop, std::string name, bool each_failure, SendMessage send);
  void launched(int) override { tell(Message::launched); }
  void launch_failed(int, int exit_code, const std::string& sentence) override {
    tell(Message::launch_failed, exit_code, sentence);
  }
  void rank_ended(int, const RankEnd& end) override { ends_.put(end); }
  void rank_crashed(int, int rank, const std::string& report) override { tell(Message::rank_crashed, rank, report); }
  void rank_waits(int, int rank) override { tell(Message::rank_waits, rank); }
  // The first one is the job's end, or some other cause of it that is heard of at the same time.
  void rank_aborted(int, int rank, int code, const std::string& text) override {
    if (!std::exchange(abort_told_, true)) tell(Message::rank_aborted, rank, code, text);
  }
  void output(int, int rank, OutputStream stream, std::string bytes) override {
    tell(Message::output, rank, stream, bytes);
  }
  void note(int, const std::string& line) override { tell(Message::note, line); }
  void remark(int, Level level, const std::string& line) override { tell(Message::remark, level, line); }
  void input_wanted(int) override { tell(Message::input_wanted); }
  void fence(int, const std::string& key, const std::string& data, const Addresses& addresses) override {
    tell(Message::fence, key, data, addresses);
  }
  void modex_wanted(int, uint64_t token, int rank) override { tell(Message::modex_wanted, token, rank); }
  void modex_found(int, uint64_t token, int status, const std::string& data) override {
    tell(Message::modex_found, token, status, data);
  }
  void addresses_wanted(int, const std::string& key) override { tell(Message::addresses_wanted, key); }
  void event(int, const std::string& packed) override { tell(Message::event, packed); }
  void asked(int, uint64_t number, const Ask& ask) override { tell(Message::asked, number, ask); }
  void looked(int, uint64_t number, std::vector<RankView> ranks) override { tell(Message::looked, number, ranks); }
  void grouped(int, uint64_t number, std::vector<RankGroup> groups) override { tell(Message::grouped, number, groups); }
  void answered(int) override { tell(Message::answered); }
  void profiled(int, std::vector<RankProfile> ranks) override { tell(Message::profiled, ranks); }
  void finished(int) override { tell(Message::finished); }
  void flush() { ends_.flush(); }  // ends that wait for others

  Error hear(Message type, std::string_view payload, Node& node);

 private:
  template <class... T>
  void tell(Message type, const T&... fields) {
    // What others write may be ahead of how ranks have ended, and that the daemon is there says nothing of them.
    if (type != Message::output && type != Message::answered) ends_.flush();
    say(type, fields...);
  }
  template <class... T>
  void say(Message type, const T&... fields) {
    talk_ = after(talk_, type);
    send_(type, wire::pack(fields...));
  }
  bool dispatch(Message type, std::string_view payload, Node& node);

  std::string name_;
  SendMessage send_;
  Talk talk_ = Talk::ready;
  RankEnds ends_;
  bool abort_told_ = false;
};

}  // namespace tutti::launcher
