// SPDX-License-Identifier: BSD-3-Clause
// Trees of made-up daemons that heal, by schedules that a seed makes: members are killed, crash without a word, are
// stopped for a while; ways between two of them are cut for a while or for good, and messages take long, at any step.
// Whatever happens, nobody is called dead who goes on; in the end everybody who lives has a way to mpirun, over others that
// live, or has ended itself; and each death has been told exactly once to each survivor.
#include "launcher/daemons/lineage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>

#include "launcher/daemons/correspondence.hpp"
#include "schedules.hpp"

namespace tutti::launcher {
namespace {

using std::chrono::milliseconds;
constexpr Pace kPace{.beat = milliseconds(1000)};
constexpr int kMpirun = Lineage::kMpirun;

struct Schedule {
  uint64_t seed;
  int size, fan_out, harms;
};

struct Connection;

// What travels on a connection.
struct Parcel {
  enum class Kind { end, hello, greeting, beat, answer, leave, adopted, refused, again, up, down, failed };
  Kind kind = Kind::end;
  int number = 0;             // of a beat, an epoch, or the node whose letter it is
  std::vector<int> way = {};  // that is left, of what goes down
  std::string letter = {};
};

// In order, each way after some time. The lower one has made it.
struct Connection {
  int lower = 0, upper = 0;
  struct Way {
    std::deque<std::pair<Moment, Parcel>> parcels;
    Moment latest;
    bool ended = false;
  } ways[2] = {};  // up, down
};

struct Member {
  std::vector<int> ancestors;  // by number of Tenure's
  std::optional<Tenure> tenure;
  Vigil vigil{kPace};
  Correspondence letters;                                               // with mpirun
  std::shared_ptr<Connection> above;                                    // its place, or what it approaches
  std::map<int, std::pair<std::shared_ptr<Connection>, int>> children;  // and the epochs of their places
  std::multiset<int> heard_dead;
  bool lives = true;
  Moment stopped_until;
};

// Large: it is the whole world, and mpirun.
class World {
 public:
  explicit World(const Schedule& how) : random_(how.seed), harms_(how.harms) {
    members_[kMpirun];
    std::vector<int> all;
    for (int node = 0; node < how.size; ++node) all.push_back(node);
    grow(kMpirun, all, how.fan_out, {kMpirun});
    longest_ = pick(3) ? milliseconds(30) : milliseconds(400);
  }

  void run() {
    const int steps = 20'000 / kStep;
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      if (harms_ > 0 && pick(steps / 8) == 0) harm();
      pass();
    }
    harms_ = 0;
    longest_ = milliseconds(30);
    for (int step = 0; step < 60'000 / kStep && !testing::Test::HasFailure(); ++step) pass();
  }

  void judge() {
    std::set<int> dead;
    for (auto& [node, member] : members_)
      if (!member.lives) dead.insert(node);
    for (auto& [node, member] : members_) {
      if (!member.lives) {
        EXPECT_FALSE(lineage_.lives(node)) << node << " has ended, and is not called dead";
        continue;
      }
      if (node != kMpirun) {
        EXPECT_FALSE(lineage_.way(node).empty()) << "no way leads to " << node;
        for (const int hop : lineage_.way(node)) EXPECT_TRUE(members_.at(hop).lives);
        EXPECT_EQ(member.above->upper, lineage_.above(node));
        EXPECT_TRUE(members_.at(member.above->upper).lives);
      }
      for (const int each : dead)
        EXPECT_EQ(member.heard_dead.count(each), node == kMpirun ? 0U : 1U) << node << " of the death of " << each;
      EXPECT_EQ(member.heard_dead.size(), node == kMpirun ? 0U : dead.size());
    }
  }

 private:
  static constexpr int kStep = 50;  // milliseconds

  int pick(int of) { return static_cast<int>(random_() % static_cast<uint64_t>(of)); }

  void grow(int above, const std::vector<int>& nodes, int fan_out, const std::vector<int>& ancestors) {
    const size_t children = std::min(nodes.size(), static_cast<size_t>(fan_out));
    for (size_t c = 0; c < children; ++c) {
      const std::vector<int> share(nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() * c / children),
                                   nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() * (c + 1) / children));
      const int node = share[0];
      lineage_.place(node, above);
      Member& member = members_[node];
      member.ancestors = ancestors;
      member.tenure.emplace(kPace, static_cast<int>(ancestors.size()), now_);
      member.above = connect(node, above);
      members_[above].children[node] = {member.above, 0};
      members_[above].vigil.heard(node, now_);
      std::vector<int> mine{node};
      mine.insert(mine.end(), ancestors.begin(), ancestors.end());
      grow(node, {share.begin() + 1, share.end()}, fan_out, mine);
    }
  }

  std::shared_ptr<Connection> connect(int lower, int upper) {
    return connections_.emplace_back(std::make_shared<Connection>(Connection{.lower = lower, .upper = upper}));
  }

  bool is_cut(int a, int b) const {
    const auto until = cuts_.find(std::minmax(a, b));
    return until != cuts_.end() && until->second > now_;
  }

  void send(const std::shared_ptr<Connection>& connection, int from, Parcel parcel) {
    if (!connection) return;
    Connection::Way& way = connection->ways[from == connection->lower ? 0 : 1];
    if (way.ended) return;
    way.ended = parcel.kind == Parcel::Kind::end;
    way.latest = std::max(way.latest, now_ + milliseconds(pick(static_cast<int>(longest_.count()))));
    way.parcels.emplace_back(way.latest, std::move(parcel));
  }

  // Of a process, told by its kernel; of a machine that loses its power, by nobody.
  void end(int node, bool tells) {
    Member& member = members_.at(node);
    if (!std::exchange(member.lives, false)) return;
    for (const auto& connection : connections_) {
      if (connection->lower != node && connection->upper != node) continue;
      if (tells) send(connection, node, {});
      connection->ways[connection->lower == node ? 0 : 1].ended = true;
    }
  }

  void harm() {
    --harms_;
    const int node = pick(static_cast<int>(members_.size()) - 1);
    const int other = pick(3) ? members_.at(node).above->upper : pick(static_cast<int>(members_.size())) - 1;
    const auto long_time = now_ + milliseconds(pick(6000));
    switch (pick(5)) {
      case 0:
        return end(node, true);
      case 1:
        return end(node, false);
      case 2:
        members_.at(pick(8) ? node : kMpirun).stopped_until = long_time;
        return;
      default:
        cuts_[std::minmax(node, other)] = pick(3) ? long_time : Moment::max();
    }
  }

  void pass() {
    now_ += milliseconds(kStep);
    for (size_t c = 0; c < connections_.size(); ++c)
      for (const int way : {0, 1}) deliver(connections_[c], way);
    for (auto& [node, member] : members_) {
      if (!member.lives) continue;
      // The watchdog of one that is stopped.
      if (member.tenure && now_ >= member.tenure->lease_ends() + (kPace.enforced() - kPace.lease())) end(node, true);
      if (!member.lives || member.stopped_until > now_) continue;
      if (member.tenure) hold(node, member);
      for (const int child : member.vigil.pass(now_)) part(node, member, child, false);
    }
    if (members_.at(kMpirun).stopped_until <= now_)
      for (const int node : lineage_.pass(now_)) called_dead(node);
    std::erase_if(connections_, [](const auto& each) {
      return each->ways[0].ended && each->ways[1].ended && each->ways[0].parcels.empty() &&
             each->ways[1].parcels.empty();
    });
  }

  void hold(int node, Member& member) {
    for (const Tenure::Action& action : member.tenure->pass(now_)) {
      switch (action.what) {
        case Tenure::Action::What::beat:
          send(member.above, node, {.kind = Parcel::Kind::beat, .number = action.number});
          break;
        case Tenure::Action::What::approach:
          send(member.above, node, {.kind = Parcel::Kind::leave});
          send(member.above, node, {});
          member.above = connect(node, member.ancestors[static_cast<size_t>(action.number)]);
          send(member.above, node, {.kind = Parcel::Kind::hello, .number = member.tenure->epoch()});
          if (!members_.at(member.above->upper).lives) send(member.above, member.above->upper, {});  // refused
          break;
        case Tenure::Action::What::end:
          return end(node, true);
      }
    }
  }

  void deliver(const std::shared_ptr<Connection>& connection, int way) {
    auto& parcels = connection->ways[way].parcels;
    const int to = way == 0 ? connection->upper : connection->lower;
    while (!parcels.empty() && parcels.front().first <= now_) {
      Member& member = members_.at(to);
      if (member.lives && (member.stopped_until > now_ || is_cut(connection->lower, connection->upper))) return;
      const Parcel parcel = std::move(parcels.front().second);
      parcels.pop_front();
      if (!member.lives) continue;
      way == 0 ? from_below(to, member, connection, parcel) : from_above(to, member, connection, parcel);
    }
  }

  // --- those that have children ---

  void from_below(int node, Member& member, const std::shared_ptr<Connection>& connection, const Parcel& parcel) {
    const int child = connection->lower;
    const auto known = member.children.find(child);
    const bool is_child = known != member.children.end() && known->second.first == connection;
    switch (parcel.kind) {
      case Parcel::Kind::hello:
        if (known != member.children.end() && known->second.second > parcel.number) return;  // it has left that
        member.children[child] = {connection, parcel.number};
        member.vigil.heard(child, now_);
        send(connection, node, {.kind = Parcel::Kind::greeting});
        return tell(node, Message::attach, wire::pack(child, parcel.number));
      case Parcel::Kind::beat:
        if (!is_child) return;
        member.vigil.heard(child, now_);
        if (!member.tenure || member.tenure->has_lease(now_))
          send(connection, node, {.kind = Parcel::Kind::answer, .number = parcel.number});
        return;
      case Parcel::Kind::leave:
      case Parcel::Kind::end:
        if (is_child) part(node, member, child, parcel.kind == Parcel::Kind::leave);
        return;
      case Parcel::Kind::up:
        if (node != kMpirun) return send(member.above, node, parcel);
        return read(parcel.number, parcel.letter);
      default:
        ADD_FAILURE();
    }
  }

  void part(int node, Member& member, int child, bool left) {
    const auto [connection, epoch] = member.children.at(child);
    member.children.erase(child);
    member.vigil.forget(child);
    send(connection, node, {});
    tell(node, Message::gone, wire::pack(child, epoch, left));
  }

  // --- those that have somebody above them ---

  void tell(int node, Message type, const std::string& payload) {
    if (node == kMpirun) return hear(kMpirun, type, payload);
    send(members_.at(node).above, node,
         {.kind = Parcel::Kind::up, .number = node, .letter = members_.at(node).letters.put(type, payload)});
  }

  void say_again(int node) {
    Member& member = members_.at(node);
    for (const std::string& letter : member.letters.letters())
      send(member.above, node, {.kind = Parcel::Kind::up, .number = node, .letter = letter});
    for (const auto& [child, place] : member.children) send(place.first, node, {.kind = Parcel::Kind::again});
  }

  void from_above(int node, Member& member, const std::shared_ptr<Connection>& connection, const Parcel& parcel) {
    if (connection != member.above) return;
    switch (parcel.kind) {
      case Parcel::Kind::greeting:
        return member.tenure->greeted(now_);
      case Parcel::Kind::answer:
        return member.tenure->answered(parcel.number);
      case Parcel::Kind::adopted:
        member.tenure->adopted(now_);
        return say_again(node);
      case Parcel::Kind::again:
        return say_again(node);
      case Parcel::Kind::refused:
        return member.tenure->condemn();
      case Parcel::Kind::end:
        return member.tenure->lost();
      case Parcel::Kind::down:
        break;
      default:
        ADD_FAILURE();
        return;
    }
    if (!parcel.way.empty()) {
      const auto next = member.children.find(parcel.way[0]);
      Parcel rest = parcel;
      rest.way.erase(rest.way.begin());
      if (next != member.children.end()) send(next->second.first, node, rest);
      return;
    }
    const Correspondence::Arrival arrival = member.letters.take(parcel.letter);
    ASSERT_TRUE(arrival.is_sound);
    if (!arrival.word) return;
    int about = 0, epoch = 0;
    bool yes = false;
    if (arrival.word->type == Message::adopt) {
      ASSERT_TRUE(wire::unpack(arrival.word->payload, about, epoch, yes));
      answer(node, about, epoch, yes);
    } else {
      ASSERT_TRUE(wire::unpack(arrival.word->payload, about));
      member.heard_dead.insert(about);
    }
  }

  void answer(int node, int child, int epoch, bool yes) {
    Member& member = members_.at(node);
    const auto known = member.children.find(child);
    if (known == member.children.end() || known->second.second != epoch) return;
    send(known->second.first, node, {.kind = yes ? Parcel::Kind::adopted : Parcel::Kind::refused});
  }

  // --- mpirun ---

  void read(int node, const std::string& letter) {
    const Correspondence::Arrival arrival = letters_[node].take(letter);
    ASSERT_TRUE(arrival.is_sound);
    if (arrival.word && lineage_.lives(node)) hear(node, arrival.word->type, arrival.word->payload);
  }

  void hear(int from, Message type, const std::string& payload) {
    int node = 0, epoch = 0;
    bool left = false;
    if (type == Message::gone) {
      ASSERT_TRUE(wire::unpack(payload, node, epoch, left));
      if (lineage_.part(node, epoch, from, left, now_)) called_dead(node);
      return;
    }
    ASSERT_TRUE(wire::unpack(payload, node, epoch));
    const bool yes = lineage_.attach(node, epoch, from);
    if (from == kMpirun)
      answer(kMpirun, node, epoch, yes);
    else
      write(from, Message::adopt, wire::pack(node, epoch, yes));
    if (!yes) return;
    for (const int each : lineage_.with_those_below(node))
      for (const std::string& unread : letters_[each].letters()) post(each, unread);
  }

  void write(int to, Message type, const std::string& payload) { post(to, letters_[to].put(type, payload)); }

  void post(int to, const std::string& letter) {
    std::vector<int> way = lineage_.way(to);
    if (way.empty()) return;
    const auto child = members_.at(kMpirun).children.find(way[0]);
    way.erase(way.begin());
    if (child != members_.at(kMpirun).children.end())
      send(child->second.first, kMpirun, {.kind = Parcel::Kind::down, .way = way, .letter = letter});
  }

  void called_dead(int node) {
    ASSERT_FALSE(members_.at(node).lives) << node << " is called dead, and goes on";
    for (auto& [each, member] : members_)
      if (each != kMpirun && lineage_.lives(each)) write(each, Message::give_up, wire::pack(node));
  }

  std::mt19937_64 random_;
  int harms_;
  milliseconds longest_{30};  // that a message takes
  Moment now_ = Moment() + std::chrono::hours(1);
  std::map<int, Member> members_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::map<std::pair<int, int>, Moment> cuts_;  // until when
  Lineage lineage_{kPace};
  std::map<int, Correspondence> letters_;  // mpirun's
};

void try_schedule(const Schedule& how) {
  SCOPED_TRACE("seed " + std::to_string(how.seed) + ", " + std::to_string(how.size) + " daemons, fan-out " +
               std::to_string(how.fan_out));
  World world(how);
  world.run();
  world.judge();
}

TEST(Lineage, SmallSchedules) {
  const int count = times(1000, 100'000);
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed)
    try_schedule({static_cast<uint64_t>(seed), 1 + seed % 9, 1 + seed / 9 % 3, seed / 27 % 8});
}

TEST(Lineage, LargeSchedules) {
  const int count = times(3, 300);
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed)
    try_schedule({static_cast<uint64_t>(seed), 64 << (seed % 3), 2 + seed % 5, 24});
}

TEST(Lineage, NobodyFails) {
  for (const int size : {1, 2, 7, 30}) try_schedule({7, size, 2, 0});
}

TEST(Correspondence, EachComesOnceAndInOrder) {
  Correspondence here, there;
  const std::string one = here.put(Message::note, "one"), two = here.put(Message::note, "two");
  EXPECT_FALSE(there.take(two).word) << "before the first";
  EXPECT_EQ(there.take(one).word->payload, "one");
  EXPECT_TRUE(there.take(one).is_sound);
  EXPECT_FALSE(there.take(one).word);
  EXPECT_EQ(there.take(two).word->payload, "two");
  EXPECT_EQ(here.letters().size(), 2U);
  EXPECT_FALSE(here.take(there.receipt()).word);
  EXPECT_TRUE(here.letters().empty());
  EXPECT_FALSE(here.take("x").is_sound);
}

}  // namespace
}  // namespace tutti::launcher
