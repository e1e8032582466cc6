// SPDX-License-Identifier: BSD-3-Clause
// A job on nodes that are not there: mpirun's Job and RemoteNodes, and for each node what its daemon says and hears
// (LauncherEvents, Upward), in a tree of daemons whose links are queues. There are no processes: a made-up node has ranks
// that run, publish an address of 120 bytes, wait in a call, and end. Nothing here takes time: a round hands over what is
// under way, and what waits for others to say the same waits until pass_time() is called. Counted is what mpirun's own links
// carry, what mpirun holds, and what its code takes of the processor.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../base/allocated.hpp"
#include "launcher/daemons/bundle.hpp"
#include "launcher/daemons/outbox.hpp"
#include "launcher/daemons/remote_node.hpp"
#include "launcher/daemons/upward.hpp"
#include "launcher/job.hpp"

namespace tutti::launcher {

enum class Places { by_slot, by_node, at_random };

inline constexpr size_t kAddressBytes = 120;
inline const char* const kAddressesKey = "tutti.ucx.1";

inline NodeTask made_up_task(int ranks, int ranks_a_node, Places places = Places::by_slot) {
  NodeTask task;
  task.map.id = "3f2a1b3c4d5e";
  task.key = "0123456789abcdef";
  task.map.apps = {{{"./a.out"}, "/home/user", "", {}}};
  const int nodes = ranks / ranks_a_node;
  for (int n = 0; n < nodes; ++n)
    task.map.nodes.push_back(fmt::format("x{}c{}s{}b{}n{}", 1000 + n / 256, n / 32 % 8, n / 4 % 8, n / 2 % 2, n % 2));
  task.map.slots.assign(static_cast<size_t>(nodes), ranks_a_node);
  task.map.rank_cores.assign(static_cast<size_t>(nodes), 1);
  task.allocation = task.map.nodes;
  task.allocation_slots = task.map.slots;
  std::vector<int> on;
  for (int r = 0; r < nodes * ranks_a_node; ++r) on.push_back(places == Places::by_node ? r % nodes : r / ranks_a_node);
  if (places == Places::at_random) std::ranges::shuffle(on, std::mt19937(1));
  std::vector<int> next(static_cast<size_t>(nodes), 0);
  std::vector<RankPlace> all;
  for (const int node : on) all.push_back({node, 0, next[static_cast<size_t>(node)]++});
  task.map.ranks = all;
  for (int i = 0; i < 60; ++i) task.environment.push_back(fmt::format("VARIABLE_{}={:060}", i, i));
  return task;
}

inline RankView waiting_rank(int rank, int size, const std::string& host) {
  RankView view;
  view.job = "3f2a1b3c4d5e";
  view.job_number = 1;
  view.host = host;
  view.program = "/home/user/a.out";
  view.launcher = "login";
  view.rank = rank;
  view.size = size;
  view.pid = 10'000 + rank % 20'000;
  view.process_state = 'S';
  view.kernel = "sleeps";
  view.inside = true;
  view.call = "MPI_Allreduce of 1 MPI_DOUBLE";
  view.place = "main at /home/user/a.cpp:120";
  view.communicator = fmt::format("MPI_COMM_WORLD (ranks 0 to {})", size - 1);
  view.milliseconds = 12'000 + rank % 100;
  view.waits_for = {7};
  view.waits_for_count = 1;
  view.latest = {"MPI_Allreduce of 1 MPI_DOUBLE at main at /home/user/a.cpp:120",
                 "MPI_Barrier at main at /home/user/a.cpp:121", "MPI_Bcast at main at /home/user/a.cpp:121"};
  return view;
}

// What one of mpirun's acts costs it.
struct Cost {
  uint64_t sent = 0, sent_bytes = 0;    // over its own links, and what they hold of it at once …
  uint64_t heard = 0, heard_bytes = 0;  // … and from them
  int64_t most_memory = 0;              // more than it held before
  double processor = 0;                 // seconds
};

class DaemonsNet {
 public:
  // What a rank is doing; by default all wait in one call.
  using Doing = std::function<RankView(int rank, int size, const std::string& host)>;

  DaemonsNet(NodeTask task, int fan_out)
      : task_(std::move(task)),
        size_(static_cast<int>(task_.map.ranks.size())),
        job_(loop_, {.kill_grace = std::chrono::hours(1)}),
        told_(loop_, [this](const std::vector<int>& nodes, Message type, const Parcel& payload) {
          send_down(children_, nodes, type, payload, true);
        }) {
    for (size_t n = 0; n < task_.map.nodes.size(); ++n)
      members_.push_back(std::make_unique<Member>(*this, static_cast<int>(n), task_.map.nodes[n]));
    grow(children_, -1, 0, static_cast<int>(members_.size()), fan_out);
    for (const int child : children_) outboxes_[child];
    for (int n = 0; n < nodes(); ++n) {
      remotes_.push_back(
          new RemoteNode([this, n](Message type, const Parcel& payload) { told_.put(n, type, payload); }));
      job_.add_node(std::unique_ptr<Node>(remotes_.back()));
    }
  }

  int nodes() const { return static_cast<int>(members_.size()); }
  int children() const { return static_cast<int>(children_.size()); }
  Job& job() { return job_; }
  Doing doing = waiting_rank;

  // All nodes are told to launch, and say that their ranks run and, with the fence of MPI_Init, their addresses.
  Cost launch() {
    return cost_of([this] { as_mpirun([this] { job_.launch(task_); }); });
  }
  // A node wants the addresses of all.
  Cost spread_addresses() {
    return cost_of([this] { members_.back()->events.addresses_wanted(0, kAddressesKey); });
  }
  Cost ask(std::optional<JobView>& view) {
    return cost_of([&] { as_mpirun([&] { job_.look_together([&](const JobView& seen) { view = seen; }); }); });
  }
  // Each rank that is left ends as is said.
  using How = std::function<RankEnd(int rank)>;
  Cost end(const How& how) {
    return cost_of([&] {
      for (const auto& member : members_)
        for (const int rank : std::exchange(member->alive, {})) end_one(*member, rank, how);
    });
  }
  Cost end_some(const std::set<int>& ranks, const How& how) {
    return cost_of([&] {
      for (const int rank : ranks) {
        Member& member = *members_[static_cast<size_t>(task_.map.ranks[static_cast<size_t>(rank)].node)];
        member.alive.erase(rank);
        end_one(member, rank, how);
      }
    });
  }
  Cost of(const std::function<void(LauncherEvents& says, int node)>& each) {
    return cost_of([&] {
      for (const auto& member : members_) each(member->events, member->number);
    });
  }
  // So much that nobody waits for others to say the same any more.
  Cost pass_time() {
    return cost_of([this] {
      for (const auto& member : members_) {
        member->events.flush();
        if (member->upward) member->upward->flush();
      }
    });
  }

  int addresses_heard(int node) const { return members_[static_cast<size_t>(node)]->addresses; }
  uint64_t bytes_of_addresses(int node) const { return members_[static_cast<size_t>(node)]->address_bytes; }
  size_t different_pieces() const { return pieces_.size(); }  // of addresses, by where they are in memory
  int64_t held() const { return held_; }                      // by mpirun
  std::string wrong;                                          // what was said that has no place, or makes no sense

 private:
  struct Letter {
    int to = -1, from = -1;  // -1: mpirun
    Message type = Message::ping;
    std::string begin;
    Parcel end;
  };

  struct Member final : Node {
    Member(DaemonsNet& of, int n, const std::string& name)
        : net(of),
          number(n),
          host(name),
          events(of.loop_, name, false,
                 [this](Message type, const Parcel& payload) { tell_up(number, type, payload); }),
          told(of.loop_, [this](const std::vector<int>& nodes, Message type, const Parcel& payload) {
            net.send_down(below, nodes, type, payload, false);
          }) {}
    void tell_up(int node, Message type, const Parcel& payload) {
      net.touched_.insert(number);
      if (upward)
        upward->tell(node, type, payload);
      else
        net.queue_.push_back({above, number, type, {}, payload});
    }

    void launch(const Common<NodeTask>&, int, std::span<const int> own) override {
      ranks.assign(own.begin(), own.end());
      alive = {own.begin(), own.end()};
      events.launched(0);
      Addresses mine{.key = kAddressesKey, .packed = {}};
      for (const int rank : ranks) mine.packed += wire::pack(RankAddress{rank, std::string(kAddressBytes, 'a')});
      events.fence(0, "tutti.3f2a1b3c4d5e.0123456789abcdef:4294967294 #0", "", mine);
    }
    void signal_ranks(int) override {}
    void finish(bool) override { events.finished(0); }
    void give_input(const Common<std::string>&) override {}
    void give_file(const Common<FilePiece>&) override {}
    void output_taken(size_t) override {}
    void fence_done(const Common<FenceEnd>&) override {}
    void find_modex(uint64_t, int) override {}
    void modex_answer(uint64_t, int, const std::string&) override {}
    void take_addresses(const Common<Addresses>& piece) override {
      wire::Unpacker unpacker(piece->packed);
      for (RankAddress address; unpacker.left() > 0; ++addresses) unpacker(address);
    }
    void deliver_event(const std::string&) override {}
    void ranks_failed(const std::vector<int>&, const std::string&) override {}
    void reply(uint64_t, const Reply&) override {}
    void learn(const Common<NodeTask>&) override {}
    void look(Question question) override {
      RankGroups groups;
      for (const int rank : alive) groups.add(net.doing(rank, net.size_, host));
      events.grouped(0, question.number, groups.take());
    }
    void call() override { events.answered(0); }

    DaemonsNet& net;
    const int number;
    const std::string host;
    int above = -1;
    std::vector<int> below;  // directly
    std::vector<int> ranks;
    std::set<int> alive;
    LauncherEvents events;
    Bundle told;
    std::unique_ptr<Upward> upward;  // where there is somebody below
    int addresses = 0;
    uint64_t address_bytes = 0;
  };

  void end_one(Member& member, int rank, const How& how) {
    RankEnd end = how(rank);
    end.rank = rank;
    member.events.rank_ended(0, end);
  }

  // As Daemons::start_below() divides nodes.
  void grow(std::vector<int>& below, int above, int begin, int end, int fan_out) {
    const int all = end - begin, children = std::min(all, fan_out);
    for (int c = 0; c < children; ++c) {
      const int first = begin + static_cast<int>(int64_t{all} * c / children);
      const int last = begin + static_cast<int>(int64_t{all} * (c + 1) / children);
      Member& child = *members_[static_cast<size_t>(first)];
      below.push_back(first);
      child.above = above;
      grow(child.below, first, first + 1, last, fan_out);
      if (child.below.empty()) continue;
      child.upward = std::make_unique<Upward>(
          loop_, first,
          Upward::Means{[this, &child](Message type, std::string_view with, const Parcel& rest) {
                          queue_.push_back({child.above, child.number, type, std::string(with), rest});
                        },
                        [] { return wire::pack(std::vector<int>()); }});
    }
  }

  // As Daemons::send_down(): once over each link, with the numbers of the nodes behind it.
  void send_down(const std::vector<int>& below, const std::vector<int>& nodes, Message type, const Parcel& payload,
                 bool from_mpirun) {
    std::map<int, std::vector<int>> by_child;
    for (const int node : nodes) by_child[*std::prev(std::ranges::upper_bound(below, node))].push_back(node);
    for (const auto& [via, behind] : by_child) {
      const bool direct = behind.size() == 1 && behind[0] == via;
      Letter letter{via, from_mpirun ? -1 : members_[static_cast<size_t>(via)]->above, direct ? type : Message::relay,
                    direct ? "" : relay_begin(behind, type, payload), payload};
      if (from_mpirun) {
        ++cost_.sent;
        cost_.sent_bytes += kFrameHeader + letter.begin.size() + payload.size();
        outboxes_[via].put(std::string_view(letter.begin));
        outboxes_[via].put(payload);
      }
      queue_.push_back(std::move(letter));
    }
  }

  static std::vector<int> numbers_in(const std::vector<Span>& spans) {
    return nodes_in(spans).value_or(std::vector<int>());
  }

  void hear_from_above(Member& member, const Letter& letter) {
    if (letter.type != Message::relay) return hear_own(member, letter.type, letter.end);
    std::vector<Span> spans;
    Message type = Message::ping;
    size_t size = 0;
    if (!wire::unpack(letter.begin, spans, type, size) || size != letter.end.size()) return blame("a relay");
    bool own = false;
    for (const int node : numbers_in(spans)) {
      own = own || node == member.number;
      if (node == member.number) continue;
      if (type == Message::launch) member.upward->takes_part(node);
      if (type == Message::look) member.upward->is_asked(node, letter.end.view());
      member.told.put(node, type, letter.end);
    }
    if (own) hear_own(member, type, letter.end);
  }

  void hear_own(Member& member, Message type, const Parcel& payload) {
    if (member.upward && type == Message::launch) member.upward->takes_part(member.number);
    if (member.upward && type == Message::look) member.upward->is_asked(member.number, payload.view());
    if (type == Message::take_addresses) {
      member.address_bytes += payload.size();
      pieces_.insert(payload.view().data());
      if (member.number != 0) return;  // each would read the same
    }
    if (Error e = member.events.hear(type, payload.view(), member)) blame(e.message());
  }

  // A daemon hears one below it, as Daemons::hear() does.
  void hear_from_below(Member& member, const Letter& letter) {
    const std::string bytes = letter.begin + std::string(letter.end.view());
    if (letter.type == Message::relayed) {
      const std::optional<Relayed> relayed = read_relayed(bytes);
      if (!relayed) return blame("a relayed message");
      for (const int node : relayed->nodes) member.tell_up(node, relayed->type, Parcel(std::string(relayed->payload)));
    } else if (letter.type == Message::gathered) {
      each_of_gathered(
          bytes, [&](int node, Message type, const std::string& payload) { member.tell_up(node, type, payload); });
    } else if (letter.type == Message::gathered_groups) {
      each_of_groups(bytes,
                     [&](int node, Message type, const std::string& payload) { member.tell_up(node, type, payload); });
    } else if (letter.type != Message::counted) {
      member.tell_up(letter.from, letter.type, letter.end);
    }
  }

  using Each = std::function<void(int node, Message, const std::string& payload)>;
  void each_of_gathered(const std::string& bytes, const Each& each) {
    std::vector<Span> spans;
    std::string key, data;
    Addresses addresses;
    if (!wire::unpack(bytes, spans, key, data, addresses)) return blame("a gathered fence");
    for (const int node : numbers_in(spans)) {
      each(node, Message::fence, wire::pack(key, std::exchange(data, {}), addresses));
      addresses.packed.clear();
    }
  }
  void each_of_groups(const std::string& bytes, const Each& each) {
    std::vector<Span> spans;
    uint64_t number = 0;
    std::vector<RankGroup> groups;
    if (!wire::unpack(bytes, spans, number, groups)) return blame("gathered groups");
    for (const int node : numbers_in(spans))
      each(node, Message::grouped, wire::pack(number, std::exchange(groups, {})));
  }

  void hear_as_mpirun(const Letter& letter) {
    ++cost_.heard;
    cost_.heard_bytes += kFrameHeader + letter.begin.size() + letter.end.size();
    const std::string bytes = letter.begin + std::string(letter.end.view());
    const Each say = [this](int node, Message type, const std::string& payload) {
      if (Error e = remotes_[static_cast<size_t>(node)]->hear(type, payload, job_, node)) blame(e.message());
    };
    as_mpirun([&] {
      if (letter.type == Message::relayed) {
        const std::optional<Relayed> relayed = read_relayed(bytes);
        if (!relayed) return blame("a relayed message");
        for (const int node : relayed->nodes)
          if (Error e = remotes_[static_cast<size_t>(node)]->hear(relayed->type, relayed->payload, job_, node))
            blame(e.message());
      } else if (letter.type == Message::gathered) {
        each_of_gathered(bytes, say);
      } else if (letter.type == Message::gathered_groups) {
        each_of_groups(bytes, say);
      } else if (letter.type != Message::counted) {
        say(letter.from, letter.type, bytes);
      }
    });
  }

  template <class Work>
  void as_mpirun(Work work) {
    const Allocated allocated;
    const double begun = seconds();
    work();
    told_.flush();
    cost_.processor += seconds() - begun;
    cost_.most_memory = std::max(cost_.most_memory, held_ + allocated.most());
    held_ += allocated.bytes();
  }

  template <class Work>
  Cost cost_of(Work work) {
    cost_ = {};
    const int64_t before = held_;
    work();
    while (!queue_.empty() || !touched_.empty()) {
      for (const int node : std::exchange(touched_, {})) {
        Member& member = *members_[static_cast<size_t>(node)];
        member.told.flush();
        if (member.upward) member.upward->send_now();
      }
      for (const Letter& letter : std::exchange(queue_, {})) {
        if (letter.to < 0) {
          hear_as_mpirun(letter);
          continue;
        }
        if (letter.from < 0) outboxes_[letter.to].clear();
        Member& member = *members_[static_cast<size_t>(letter.to)];
        touched_.insert(member.number);
        letter.from == member.above ? hear_from_above(member, letter) : hear_from_below(member, letter);
      }
    }
    Cost out = cost_;
    out.most_memory -= before;
    return out;
  }

  void blame(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }

  static double seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  NodeTask task_;
  const int size_;
  Loop loop_;  // never runs
  Job job_;
  Bundle told_;
  std::vector<RemoteNode*> remotes_;  // the job's
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<int> children_;  // of mpirun
  std::map<int, Outbox> outboxes_;
  std::deque<Letter> queue_;
  std::set<int> touched_;  // who may have something to send
  std::set<const char*> pieces_;
  Cost cost_;
  int64_t held_ = 0;  // by mpirun, since it began
};

}  // namespace tutti::launcher
