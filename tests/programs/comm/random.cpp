// SPDX-License-Identifier: BSD-3-Clause
// Communicators by chance: a seed chooses which are made of which others, in each of the ways that
// there are, freed, and used, beside a model that every rank keeps of all of them, also of those
// that it is no member of. Each new one has the processes that the model has, in its order;
// collectives of several are under way at once and are waited for in another order at each rank.
//   random [SEED [STEPS]]
#include <memory>
#include <utility>

#include "check.hpp"

namespace {

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<size_t>(below(static_cast<int>(i)))]);
  }

 private:
  std::mt19937 engine_;
};

using Ranks = std::vector<int>;  // of MPI_COMM_WORLD

bool has(const Ranks& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}
int place_in(const Ranks& ranks, int rank) {
  const auto found = std::ranges::find(ranks, rank);
  return found == ranks.end() ? MPI_UNDEFINED : static_cast<int>(found - ranks.begin());
}
int size_of(const Ranks& ranks) {
  return static_cast<int>(ranks.size());
}

// What MPI_Group_compare says of groups.
int compared(const Ranks& left, const Ranks& right) {
  if (left == right) return MPI_IDENT;
  Ranks l = left, r = right;
  std::ranges::sort(l);
  std::ranges::sort(r);
  return l == r ? MPI_SIMILAR : MPI_UNEQUAL;
}

// A communicator of all ranks' model: of one group, or between two.
struct Known {
  Ranks first, second;            // the second one is empty where there is one group
  MPI_Comm comm = MPI_COMM_NULL;  // at members
  int number = 0;                 // no other has had it
  int mark = 0;                   // its attribute, which duplicates have one higher

  bool between() const { return !second.empty(); }
  bool member() const { return has(first, check::world_rank) || has(second, check::world_rank); }
  bool is_second() const { return has(second, check::world_rank); }
  const Ranks& mine() const { return is_second() ? second : first; }
  const Ranks& theirs() const { return is_second() ? first : second; }
  Ranks all() const {
    Ranks both = first;
    both.insert(both.end(), second.begin(), second.end());
    return both;
  }
};

int one_higher(MPI_Comm, int, void*, void* value, void* copy, int* flag) {
  *static_cast<void**>(copy) = static_cast<char*>(value) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

class Play {
 public:
  Play(const check::Program& world, unsigned seed)
      : chance_(seed), own_(check::mix(seed, static_cast<unsigned>(world.rank()))) {
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world_group_));
    OK(MPI_Comm_create_keyval(one_higher, MPI_COMM_NULL_DELETE_FN, &key_, nullptr));
    Known all;
    all.first.resize(static_cast<size_t>(world.size()));
    std::iota(all.first.begin(), all.first.end(), 0);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &all.comm));
    add(all);
  }
  ~Play() {
    while (!known_.empty()) free_one(0);
    OK(MPI_Comm_free_keyval(&key_));
    OK(MPI_Group_free(&world_group_));
  }
  Play(const Play&) = delete;

  void step(int number) {
    step_ = number;
    if (known_.size() > 14) return free_one(1 + chance_.below(static_cast<int>(known_.size()) - 1));
    switch (chance_.below(13)) {
      case 0:
        return split();
      case 1:
        return duplicate();
      case 2:
        return duplicate_at_once();
      case 3:
        return create();
      case 4:
        return create_group();
      case 5:
      case 6:
        return connect();
      case 7:
        return merge();
      case 8:
        return cartesian();
      case 9:
        if (known_.size() > 1) free_one(1 + chance_.below(static_cast<int>(known_.size()) - 1));
        return;
      case 10:
        return compare();
      case 11:
        return groups();
      default:
        return traffic();
    }
  }

 private:
  // The `i`-th of those that `wanted` accepts; -1: there is none.
  template <class Wanted>
  int some(Wanted wanted) {
    std::vector<int> fitting;
    for (size_t i = 0; i < known_.size(); ++i)
      if (wanted(*known_[i])) fitting.push_back(static_cast<int>(i));
    return fitting.empty() ? -1 : fitting[static_cast<size_t>(chance_.below(static_cast<int>(fitting.size())))];
  }
  Known& any() { return *known_[static_cast<size_t>(chance_.below(static_cast<int>(known_.size())))]; }

  // A part of them in any order, never none.
  Ranks part_of(const Ranks& ranks) {
    Ranks part = ranks;
    chance_.shuffle(part);
    part.resize(static_cast<size_t>(1 + chance_.below(size_of(ranks))));
    return part;
  }
  // As ranks of the world; freed by the caller.
  MPI_Group group_of(const Ranks& ranks) const {
    MPI_Group group;
    OK(MPI_Group_incl(world_group_, size_of(ranks), ranks.data(), &group));
    return group;
  }
  Ranks ranks_of(MPI_Group group) const {
    int size = -1;
    OK(MPI_Group_size(group, &size));
    Ranks here(static_cast<size_t>(size)), there(here.size());
    std::iota(here.begin(), here.end(), 0);
    OK(MPI_Group_translate_ranks(group, size, here.data(), world_group_, there.data()));
    return there;
  }

  // Takes in what was made, and judges it.
  void add(Known made) {
    made.number = next_number_++;
    if (made.member()) {
      CHECK(made.comm != MPI_COMM_NULL);
      check_processes(made);
      OK(MPI_Comm_set_attr(made.comm, key_, mark_value(made.mark)));
    } else {
      CHECK(made.comm == MPI_COMM_NULL);
    }
    known_.push_back(std::make_unique<Known>(std::move(made)));
    if (known_.back()->member()) sum_up(*known_.back());
  }
  void* mark_value(int mark) const { return reinterpret_cast<void*>(static_cast<intptr_t>(mark)); }

  void check_processes(const Known& k) const {
    int size = -1, rank = -1, between = -1;
    OK(MPI_Comm_size(k.comm, &size));
    OK(MPI_Comm_rank(k.comm, &rank));
    OK(MPI_Comm_test_inter(k.comm, &between));
    CHECK_EQ_IN(size, size_of(k.mine()), "step %d", step_);
    CHECK_EQ_IN(rank, place_in(k.mine(), check::world_rank), "step %d", step_);
    CHECK_EQ_IN(between != 0, k.between(), "step %d", step_);
    MPI_Group group;
    OK(MPI_Comm_group(k.comm, &group));
    CHECK(ranks_of(group) == k.mine());
    OK(MPI_Group_free(&group));
    if (!k.between()) return;
    OK(MPI_Comm_remote_size(k.comm, &size));
    CHECK_EQ(size, size_of(k.theirs()));
    OK(MPI_Comm_remote_group(k.comm, &group));
    CHECK(ranks_of(group) == k.theirs());
    OK(MPI_Group_free(&group));
  }

  // What a sum over it must be: that of the other side, where there are two.
  long expected_sum(const Known& k) const {
    long sum = 0;
    for (const int rank : k.between() ? k.theirs() : k.mine()) sum += rank * 1000L + k.number;
    return sum;
  }
  void sum_up(const Known& k) const {
    const long mine = check::world_rank * 1000L + k.number;
    long sum = -1;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, k.comm));
    CHECK_EQ_IN(sum, expected_sum(k), "step %d, communicator %d", step_, k.number);
  }

  // By colour; of a communicator between two groups both sides, or none, must have it.
  void split() {
    Known& k = any();
    std::vector<int> colours(1 + 64, MPI_UNDEFINED), keys(1 + 64, 0);
    const Ranks all = k.all();
    const int kinds = 1 + chance_.below(3);
    for (const int rank : all) {
      colours[static_cast<size_t>(rank)] = chance_.one_in(6) ? MPI_UNDEFINED : chance_.below(kinds);
      keys[static_cast<size_t>(rank)] = chance_.below(4) - 1;
    }
    MPI_Comm made = MPI_COMM_NULL;
    const auto own = static_cast<size_t>(check::world_rank);
    if (k.member()) OK(MPI_Comm_split(k.comm, colours[own], keys[own], &made));
    const auto of_colour = [&](const Ranks& side, int colour) {
      Ranks part;
      for (const int rank : side)
        if (colours[static_cast<size_t>(rank)] == colour) part.push_back(rank);
      std::ranges::stable_sort(part, {}, [&](int rank) { return keys[static_cast<size_t>(rank)]; });
      return part;
    };
    std::vector<Known> parts;
    const bool between = k.between();
    for (int colour = 0; colour < kinds; ++colour) {
      Known part;
      part.first = of_colour(k.first, colour);
      part.second = of_colour(k.second, colour);
      if (part.first.empty() || (between && part.second.empty())) continue;
      if (part.member()) part.comm = made;
      parts.push_back(part);
    }
    if (std::ranges::none_of(parts, [](const Known& part) { return part.member(); })) CHECK(made == MPI_COMM_NULL);
    for (Known& part : parts) add(std::move(part));
  }

  Known copy_of(const Known& k) const {
    Known copy = k;
    copy.comm = MPI_COMM_NULL;
    copy.mark = k.mark + 1;
    return copy;
  }
  void check_mark(const Known& copy) const {
    void* value = nullptr;
    int flag = 0;
    OK(MPI_Comm_get_attr(copy.comm, key_, &value, &flag));
    CHECK(flag && value == mark_value(copy.mark));
  }
  void duplicate() {
    const Known& k = any();
    Known copy = copy_of(k);
    if (k.member()) {
      if (chance_.one_in(2))
        OK(MPI_Comm_dup(k.comm, &copy.comm));
      else
        OK(MPI_Comm_dup_with_info(k.comm, MPI_INFO_NULL, &copy.comm));
      check_mark(copy);
    } else {
      chance_.one_in(2);
    }
    add(std::move(copy));
  }
  // Several nonblocking ones, with collectives of the originals beside them.
  void duplicate_at_once() {
    struct Copy {
      const Known* of;
      Known known;
      long sum = -1, mine = 0;
    };
    std::vector<std::unique_ptr<Copy>> copies;
    std::vector<MPI_Request> requests;
    for (int n = 1 + chance_.below(3); n > 0; --n) {
      const Known& k = any();
      auto copy = std::make_unique<Copy>(Copy{&k, copy_of(k)});
      const bool sum_first = chance_.one_in(2);
      if (k.member()) {
        copy->mine = check::world_rank * 1000L + k.number;
        MPI_Request made, sum;
        if (!sum_first) OK(MPI_Comm_idup(k.comm, &copy->known.comm, &made));
        OK(MPI_Iallreduce(&copy->mine, &copy->sum, 1, MPI_LONG, MPI_SUM, k.comm, &sum));
        if (sum_first) OK(MPI_Comm_idup(k.comm, &copy->known.comm, &made));
        requests.push_back(made);
        requests.push_back(sum);
      }
      copies.push_back(std::move(copy));
    }
    wait_in_own_order(requests);
    for (auto& copy : copies) {
      if (copy->of->member()) {
        CHECK_EQ(copy->sum, expected_sum(*copy->of));
        check_mark(copy->known);
      }
      add(std::move(copy->known));
    }
  }
  void wait_in_own_order(std::vector<MPI_Request>& requests) {
    own_.shuffle(requests);
    if (own_.one_in(3)) {
      OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
      return;
    }
    for (MPI_Request& request : requests) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }

  // By MPI_Comm_create: with one group, or disjoint ones; between two groups a part of each side.
  void create() {
    Known& k = any();
    std::vector<Known> parts(1);
    parts[0].first = part_of(k.first);
    if (k.between()) {
      parts[0].second = part_of(k.second);
    } else if (chance_.one_in(2)) {
      Known rest;
      for (const int rank : k.first)
        if (!has(parts[0].first, rank)) rest.first.push_back(rank);
      chance_.shuffle(rest.first);
      if (!rest.first.empty()) parts.push_back(rest);
    }
    if (k.member()) {
      MPI_Group group = MPI_GROUP_EMPTY;
      for (const Known& part : parts) {
        if (k.between())
          group = group_of(k.is_second() ? part.second : part.first);
        else if (has(part.first, check::world_rank))
          group = group_of(part.first);
      }
      MPI_Comm made = MPI_COMM_NULL;
      OK(MPI_Comm_create(k.comm, group, &made));
      if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
      bool in = false;
      for (Known& part : parts)
        if (part.member()) in = true, part.comm = made;
      if (!in) CHECK(made == MPI_COMM_NULL);
    }
    for (Known& part : parts) add(std::move(part));
  }
  void create_group() {
    const int of = some([](const Known& k) { return !k.between(); });
    const Known& k = *known_[static_cast<size_t>(of)];
    Known part;
    part.first = part_of(k.first);
    const int tag = chance_.below(1000);
    if (part.member()) {
      MPI_Group group = group_of(part.first);
      OK(MPI_Comm_create_group(k.comm, group, tag, &part.comm));
      OK(MPI_Group_free(&group));
    }
    add(std::move(part));
  }

  // Two parts of a communicator, and one between them.
  void connect() {
    const int of = some([](const Known& k) { return !k.between() && k.first.size() > 1; });
    if (of < 0) return;
    const Known& k = *known_[static_cast<size_t>(of)];
    Ranks mixed = k.first;
    chance_.shuffle(mixed);
    const int cut = 1 + chance_.below(size_of(mixed) - 1);
    Known sides[2];
    sides[0].first.assign(mixed.begin(), mixed.begin() + cut);
    sides[1].first.assign(mixed.begin() + cut, mixed.end());
    const int tag = chance_.below(1000);
    const int leaders[] = {chance_.below(size_of(sides[0].first)), chance_.below(size_of(sides[1].first))};
    Known bridge;
    bridge.first = sides[0].first;
    bridge.second = sides[1].first;
    for (int side = 0; side < 2; ++side) {
      Known& own = sides[side];
      if (!own.member()) continue;
      MPI_Group group = group_of(own.first);
      OK(MPI_Comm_create_group(k.comm, group, 1000 + side, &own.comm));
      OK(MPI_Group_free(&group));
      const Ranks& theirs = sides[1 - side].first;
      const int remote = place_in(k.first, theirs[static_cast<size_t>(leaders[1 - side])]);
      OK(MPI_Intercomm_create(own.comm, leaders[side], k.comm, remote, tag, &bridge.comm));
    }
    add(std::move(sides[0]));
    add(std::move(sides[1]));
    add(std::move(bridge));
  }
  void merge() {
    const int of = some([](const Known& k) { return k.between(); });
    if (of < 0) return;
    const Known& k = *known_[static_cast<size_t>(of)];
    const bool second_is_high = chance_.one_in(2);
    Known merged;
    merged.first = second_is_high ? k.first : k.second;
    const Ranks& high = second_is_high ? k.second : k.first;
    merged.first.insert(merged.first.end(), high.begin(), high.end());
    if (k.member()) OK(MPI_Intercomm_merge(k.comm, k.is_second() == second_is_high, &merged.comm));
    add(std::move(merged));
  }
  // A torus of some of the processes, and its rows.
  void cartesian() {
    const int of = some([](const Known& k) { return !k.between(); });
    const Known& k = *known_[static_cast<size_t>(of)];
    const int columns = 1 + chance_.below(std::min(3, size_of(k.first)));
    const int rows = 1 + chance_.below(size_of(k.first) / columns);
    const int dims[] = {rows, columns}, periods[] = {1, 0}, kept[] = {0, 1};
    Known grid;
    grid.first.assign(k.first.begin(), k.first.begin() + rows * columns);
    MPI_Comm row = MPI_COMM_NULL;
    if (k.member()) OK(MPI_Cart_create(k.comm, 2, dims, periods, 0, &grid.comm));
    if (grid.member()) OK(MPI_Cart_sub(grid.comm, kept, &row));
    std::vector<Known> parts;
    for (int i = 0; i < rows; ++i) {
      Known part;
      part.first.assign(grid.first.begin() + i * columns, grid.first.begin() + (i + 1) * columns);
      if (part.member()) part.comm = row;
      parts.push_back(part);
    }
    add(std::move(grid));
    for (Known& part : parts) add(std::move(part));
  }

  void free_one(int which) {
    Known& k = *known_[static_cast<size_t>(which)];
    const bool disconnects = chance_.one_in(3);
    if (k.member()) {
      check_processes(k);
      if (disconnects)
        OK(MPI_Comm_disconnect(&k.comm));
      else
        OK(MPI_Comm_free(&k.comm));
      CHECK(k.comm == MPI_COMM_NULL);
    }
    known_.erase(known_.begin() + which);
  }

  void compare() {
    const Known &left = any(), &right = any();
    if (!left.member() || !right.member()) return;
    int expected = MPI_UNEQUAL, got = -1;
    if (&left == &right) {
      expected = MPI_IDENT;
    } else if (left.between() == right.between()) {
      const int mine = compared(left.mine(), right.mine()), theirs = compared(left.theirs(), right.theirs());
      if (mine != MPI_UNEQUAL && theirs != MPI_UNEQUAL)
        expected = mine == MPI_IDENT && theirs == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
    }
    OK(MPI_Comm_compare(left.comm, right.comm, &got));
    CHECK_EQ_IN(got, expected, "step %d, communicators %d and %d", step_, left.number, right.number);
  }

  void groups() {
    const Ranks left = part_of(any().all()), right = part_of(any().all());
    MPI_Group l = group_of(left), r = group_of(right);
    Ranks both = left, common, only;
    for (const int rank : right)
      if (!has(left, rank)) both.push_back(rank);
    for (const int rank : left) (has(right, rank) ? common : only).push_back(rank);
    const auto is = [&](int (*made)(MPI_Group, MPI_Group, MPI_Group*), const Ranks& expected) {
      MPI_Group result;
      OK(made(l, r, &result));
      CHECK(ranks_of(result) == expected);
      int rank = -2;
      OK(MPI_Group_rank(result, &rank));
      CHECK_EQ(rank, place_in(expected, check::world_rank));
      if (result != MPI_GROUP_EMPTY) OK(MPI_Group_free(&result));
    };
    is(MPI_Group_union, both);
    is(MPI_Group_intersection, common);
    is(MPI_Group_difference, only);
    int got = -1;
    OK(MPI_Group_compare(l, r, &got));
    CHECK_EQ(got, compared(left, right));
    OK(MPI_Group_free(&l));
    OK(MPI_Group_free(&r));
  }

  // Collectives and messages of several communicators at once.
  void traffic() {
    struct Words {
      const Known* known;
      long mine, sum = -1;
      std::vector<int> all;
      int sent, received = -1, root;
      int word;
    };
    std::vector<std::unique_ptr<Words>> under_way;
    std::vector<MPI_Request> requests;
    const auto started = [&](auto call) {
      MPI_Request request = MPI_REQUEST_NULL;
      OK(call(&request));
      requests.push_back(request);
    };
    for (int n = 2 + chance_.below(5); n > 0; --n) {
      const Known& k = any();
      const int root = chance_.below(size_of(k.first)), order = chance_.below(3);
      if (!k.member()) continue;
      auto made = std::make_unique<Words>();
      Words& w = *made;
      under_way.push_back(std::move(made));
      w.known = &k;
      w.mine = check::world_rank * 1000L + k.number;
      w.sent = k.number * 100 + check::world_rank;
      w.root = root;
      const Ranks& others = k.between() ? k.theirs() : k.mine();
      const int rank = place_in(k.mine(), check::world_rank);
      w.all.assign(others.size(), -1);
      // The one with root is the first side's: between two groups the second one receives.
      const int seen_root = !k.between() ? root : k.is_second() ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
      const bool gives = !k.is_second() && rank == root;
      w.word = gives ? k.number : -1;
      for (int i = 0; i < 3; ++i) switch ((order + i) % 3) {
          case 0:
            started([&](MPI_Request* r) { return MPI_Iallreduce(&w.mine, &w.sum, 1, MPI_LONG, MPI_SUM, k.comm, r); });
            break;
          case 1:
            started([&](MPI_Request* r) {
              return MPI_Iallgather(&w.sent, 1, MPI_INT, w.all.data(), 1, MPI_INT, k.comm, r);
            });
            break;
          default:
            started([&](MPI_Request* r) { return MPI_Ibcast(&w.word, 1, MPI_INT, seen_root, k.comm, r); });
        }
      // Within one group around a ring; between two from each to the one opposite, as far as there
      // is one.
      const int size = size_of(others);
      const int to = k.between() ? rank : (rank + 1) % size, from = k.between() ? rank : (rank + size - 1) % size;
      if (to < size) started([&](MPI_Request* r) { return MPI_Isend(&w.sent, 1, MPI_INT, to, 7, k.comm, r); });
      if (from < size) started([&](MPI_Request* r) { return MPI_Irecv(&w.received, 1, MPI_INT, from, 7, k.comm, r); });
    }
    wait_in_own_order(requests);
    for (const auto& w : under_way) {
      const Known& k = *w->known;
      CHECK_EQ_IN(w->sum, expected_sum(k), "step %d, communicator %d", step_, k.number);
      const Ranks& others = k.between() ? k.theirs() : k.mine();
      for (size_t i = 0; i < others.size(); ++i) CHECK_EQ(w->all[i], k.number * 100 + others[i]);
      const bool first = !k.between() || !k.is_second();
      if (!k.between() || !first) CHECK_EQ(w->word, k.number);
      const int rank = place_in(k.mine(), check::world_rank), size = size_of(others);
      const int from = k.between() ? rank : (rank + size - 1) % size;
      if (from < size) CHECK_EQ(w->received, k.number * 100 + others[static_cast<size_t>(from)]);
    }
  }

  Chance chance_, own_;
  MPI_Group world_group_ = MPI_GROUP_NULL;
  int key_ = MPI_KEYVAL_INVALID, next_number_ = 0, step_ = -1;
  std::vector<std::unique_ptr<Known>> known_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 150;
  Play play(world, seed);
  for (int i = 0; i < steps; ++i) play.step(i);
}
