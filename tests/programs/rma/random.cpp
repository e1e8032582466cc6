// SPDX-License-Identifier: BSD-3-Clause
// Windows by chance: kinds of windows and of epochs, elements of 1 to 8 bytes,
// operations and types that a seed chooses, beside a model that every
// rank keeps of all windows. In an epoch each element of a window is put, accumulated or only read, as the standard
// wants it (section 12.7); what is fetched, and at the end of each epoch each rank's own window, are those of the model.
//   random [SEED [EPOCHS]]
#include <memory>
#include <utility>

#include "check.hpp"

namespace {

template <class Element>
MPI_Datatype type_of();
template <>
MPI_Datatype type_of<signed char>() {
  return MPI_SIGNED_CHAR;
}
template <>
MPI_Datatype type_of<short>() {
  return MPI_SHORT;
}
template <>
MPI_Datatype type_of<int>() {
  return MPI_INT;
}
template <>
MPI_Datatype type_of<long long>() {
  return MPI_LONG_LONG;
}

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

enum class Role { read, put, update, sum };  // sum: by all; put and update: by one rank
enum class Kind { create, allocate, shared, dynamic, kinds };
enum class Epoch { fence, groups, lock, lock_all, epochs };

const MPI_Op kOps[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
constexpr int kOpCount = 8;

template <class Element>
Element applied(int op, Element old, Element with) {
  switch (op) {
      // clang-format off
    case 0: return static_cast<Element>(old + with);
    case 1: return std::min(old, with);
    case 2: return std::max(old, with);
    case 3: return static_cast<Element>(old & with);
    case 4: return static_cast<Element>(old | with);
    case 5: return static_cast<Element>(old ^ with);
    case 6: return with;
    default: return old;
      // clang-format on
  }
}

// Elements of a window, in a datatype for the target, and memory at the origin, with gaps or without.
template <class Element>
class Picked {
 public:
  Picked(const std::vector<int>& elements, bool gaps) : count_(static_cast<int>(elements.size())), step_(gaps ? 3 : 1) {
    OK(MPI_Type_create_indexed_block(count_, 1, elements.data(), type_of<Element>(), &target_));
    OK(MPI_Type_vector(count_, 1, step_, type_of<Element>(), &origin_));
    OK(MPI_Type_commit(&target_));
    OK(MPI_Type_commit(&origin_));
    memory_.assign(elements.size() * static_cast<size_t>(step_) + 1, -77);
  }
  ~Picked() {
    MPI_Type_free(&target_);
    MPI_Type_free(&origin_);
  }
  Picked(const Picked&) = delete;
  Element& operator[](int i) { return memory_[static_cast<size_t>(i * step_)]; }
  Element* data() { return memory_.data(); }
  MPI_Datatype target() const { return target_; }
  MPI_Datatype origin() const { return origin_; }
  void check_gaps() {
    for (size_t i = 0; i < memory_.size(); ++i)
      if (i % static_cast<size_t>(step_) != 0 || i >= static_cast<size_t>(count_ * step_)) CHECK_EQ(memory_[i], -77);
  }

 private:
  int count_, step_;
  MPI_Datatype target_, origin_;
  std::vector<Element> memory_;
};

template <class Element>
class Run {
  using Pick = Picked<Element>;
  inline static const MPI_Datatype kType = type_of<Element>();

 public:
  explicit Run(unsigned seed) : chance_(seed), rank_(check::world_rank) {
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
    elements_ = chance_.one_in(3) ? 1500 : 40;
    kind_ = static_cast<Kind>(chance_.below(static_cast<int>(Kind::kinds)));
    if (kind_ == Kind::shared && !on_one_node()) kind_ = Kind::allocate;  // of which each node's ranks share parts
    open();
    model_.assign(static_cast<size_t>(size_), std::vector<Element>(static_cast<size_t>(elements_)));
    for (int rank = 0; rank < size_; ++rank)
      for (int e = 0; e < elements_; ++e) model_[rank][e] = static_cast<Element>(chance_.below(100));
    std::copy(model_[rank_].begin(), model_[rank_].end(), own_);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  void epoch(unsigned number) {
    number_ = number;
    deal_roles();
    const auto kind = static_cast<Epoch>(chance_.below(static_cast<int>(Epoch::epochs)));
    const int rounds = 1 + chance_.below(3);
    begin(kind);
    // Each origin's operations come from a chance of its own, which all ranks follow.
    std::vector<std::unique_ptr<Pick>> alive;
    std::vector<MPI_Request> requests;
    for (int target = 0; target < size_; ++target) {
      if (kind == Epoch::lock) OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window_));
      for (int origin = 0; origin < size_; ++origin) {
        Chance own(check::mix(number, static_cast<unsigned>(origin), static_cast<unsigned>(target)));
        for (int round = 0; round < rounds; ++round)
          operate(origin, target, round, kind == Epoch::lock || kind == Epoch::lock_all, own, alive, requests);
      }
      if (kind == Epoch::lock) OK(MPI_Win_unlock(target, window_));
    }
    if (kind == Epoch::lock_all && chance_.one_in(2)) OK(MPI_Win_flush_all(window_));
    end(kind);
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (const auto& check : checks_) check();
    checks_.clear();
    for (const auto& each : alive) each->check_gaps();
    check_window();
  }

  void close() {
    if (kind_ == Kind::dynamic) OK(MPI_Win_detach(window_, memory_.data()));
    OK(MPI_Win_free(&window_));
  }

 private:
  bool on_one_node() const {
    MPI_Comm node;
    int here;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &here));
    OK(MPI_Comm_free(&node));
    return here == size_;
  }

  void open() {
    const auto bytes = static_cast<MPI_Aint>(elements_) * static_cast<MPI_Aint>(sizeof(Element));
    memory_.assign(static_cast<size_t>(elements_), 0);
    own_ = memory_.data();
    bases_.assign(static_cast<size_t>(size_), 0);
    if (kind_ == Kind::create) {
      OK(MPI_Win_create(own_, bytes, sizeof(Element), MPI_INFO_NULL, MPI_COMM_WORLD, &window_));
    } else if (kind_ == Kind::allocate) {
      OK(MPI_Win_allocate(bytes, sizeof(Element), MPI_INFO_NULL, MPI_COMM_WORLD, &own_, &window_));
    } else if (kind_ == Kind::shared) {
      OK(MPI_Win_allocate_shared(bytes, sizeof(Element), MPI_INFO_NULL, MPI_COMM_WORLD, &own_, &window_));
    } else {
      OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window_));
      OK(MPI_Win_attach(window_, own_, bytes));
      MPI_Aint base;
      OK(MPI_Get_address(own_, &base));
      OK(MPI_Allgather(&base, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, MPI_COMM_WORLD));
    }
  }

  void deal_roles() {
    roles_.assign(static_cast<size_t>(size_), std::vector<std::pair<Role, int>>(static_cast<size_t>(elements_)));
    for (auto& window : roles_)
      for (auto& role : window) role = {static_cast<Role>(chance_.below(4)), chance_.below(size_)};
  }

  void begin(Epoch kind) {
    if (kind == Epoch::fence) OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_));
    if (kind == Epoch::lock_all) OK(MPI_Win_lock_all(0, window_));
    if (kind != Epoch::groups) return;
    MPI_Group all;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Win_post(all, 0, window_));
    OK(MPI_Win_start(all, 0, window_));
    OK(MPI_Group_free(&all));
  }
  void end(Epoch kind) {
    if (kind == Epoch::fence) OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_));
    if (kind == Epoch::lock_all) OK(MPI_Win_unlock_all(window_));
    if (kind == Epoch::groups) {
      OK(MPI_Win_complete(window_));
      OK(MPI_Win_wait(window_));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  std::vector<int> some_of(int origin, int target, Role role, Chance& own) const {
    std::vector<int> out;
    const int most = own.one_in(4) ? elements_ : 1 + own.below(6);
    const int from = own.below(elements_);
    for (int i = 0; i < elements_ && static_cast<int>(out.size()) < most; ++i) {
      const int e = (from + i) % elements_;
      const auto& [is, by] = roles_[static_cast<size_t>(target)][static_cast<size_t>(e)];
      if (is == role && (role == Role::read || role == Role::sum || by == origin)) out.push_back(e);
    }
    return out;
  }

  // What `origin` does to `target`; everybody follows it in the model, and the origin does it.
  void operate(int origin, int target, int round, bool with_requests, Chance& own,
               std::vector<std::unique_ptr<Pick>>& alive, std::vector<MPI_Request>& requests) {
    const auto role = static_cast<Role>(own.below(4));
    // An element is put once in an epoch.
    if (role == Role::put && round > 0) return;
    const std::vector<int> elements = some_of(origin, target, role, own);
    if (elements.empty()) return;
    const bool gaps = own.one_in(2), fetches = own.one_in(2), one = elements.size() == 1;
    with_requests = own.one_in(3) && with_requests;
    const int op = role == Role::sum ? 0 : own.below(kOpCount);
    std::vector<Element> given(elements.size());
    for (Element& value : given) value = static_cast<Element>(own.below(1 << 20));
    const bool swaps = own.one_in(3), right = own.one_in(2);
    const MPI_Aint at = bases_[static_cast<size_t>(target)];
    std::vector<Element>& there = model_[static_cast<size_t>(target)];

    std::vector<Element> before;
    for (const int e : elements) before.push_back(there[static_cast<size_t>(e)]);
    const Element compared = right ? before[0] : static_cast<Element>(before[0] + 1);
    if (role == Role::put)
      for (size_t i = 0; i < elements.size(); ++i) there[static_cast<size_t>(elements[i])] = given[i];
    const bool swap = role == Role::update && one && swaps;
    if (swap && right) there[static_cast<size_t>(elements[0])] = given[0];
    if ((role == Role::update && !swap) || role == Role::sum)
      for (size_t i = 0; i < elements.size(); ++i) {
        Element& value = there[static_cast<size_t>(elements[i])];
        value = applied(op, value, given[i]);
      }
    if (origin != rank_) return;

    auto picked = std::make_unique<Pick>(elements, gaps), result = std::make_unique<Pick>(elements, !gaps);
    Pick& in = *picked;
    Pick& out = *result;
    alive.push_back(std::move(picked));
    alive.push_back(std::move(result));
    const int n = static_cast<int>(elements.size());
    for (int i = 0; i < n; ++i) in[i] = given[static_cast<size_t>(i)];
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_Aint alone = at + elements[0] * (kind_ == Kind::dynamic ? MPI_Aint{sizeof(Element)} : 1);
    bool fetched = false;
    if (role == Role::read) {
      fetched = true;
      OK(with_requests ? MPI_Rget(out.data(), 1, out.origin(), target, at, 1, out.target(), window_, &request)
                       : MPI_Get(out.data(), 1, out.origin(), target, at, 1, out.target(), window_));
    } else if (role == Role::put) {
      OK(with_requests ? MPI_Rput(in.data(), 1, in.origin(), target, at, 1, in.target(), window_, &request)
                       : MPI_Put(in.data(), 1, in.origin(), target, at, 1, in.target(), window_));
    } else if (swap) {
      fetched = true;
      compared_.push_back(std::make_unique<Element>(compared));
      OK(MPI_Compare_and_swap(in.data(), compared_.back().get(), out.data(), kType, target, alone, window_));
    } else if (fetches && one) {
      fetched = true;
      OK(MPI_Fetch_and_op(in.data(), out.data(), kType, target, alone, kOps[op], window_));
    } else if (fetches) {
      fetched = true;
      OK(with_requests ? MPI_Rget_accumulate(in.data(), 1, in.origin(), out.data(), 1, out.origin(), target, at, 1,
                                             in.target(), kOps[op], window_, &request)
                       : MPI_Get_accumulate(in.data(), 1, in.origin(), out.data(), 1, out.origin(), target, at, 1,
                                            in.target(), kOps[op], window_));
    } else if (op != kOpCount - 1) {  // MPI_NO_OP is for what fetches
      OK(with_requests
             ? MPI_Raccumulate(in.data(), 1, in.origin(), target, at, 1, in.target(), kOps[op], window_, &request)
             : MPI_Accumulate(in.data(), 1, in.origin(), target, at, 1, in.target(), kOps[op], window_));
    }
    if (request != MPI_REQUEST_NULL) requests.push_back(request);
    // What others add to meanwhile nobody knows.
    if (fetched && role != Role::sum)
      checks_.push_back([this, &out, before, target, elements] {
        for (size_t i = 0; i < before.size(); ++i)
          CHECK_EQ_IN(out[static_cast<int>(i)], before[i], "epoch %u, element %d of rank %d", number_, elements[i],
                      target);
      });
  }

  void check_window() {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, window_));
    for (int e = 0; e < elements_; ++e)
      CHECK_EQ_IN(own_[e], model_[static_cast<size_t>(rank_)][static_cast<size_t>(e)], "epoch %u, element %d", number_,
                  e);
    OK(MPI_Win_unlock(rank_, window_));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  Chance chance_;
  const int rank_;
  int size_ = 0, elements_ = 0;
  unsigned number_ = 0;
  Kind kind_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<Element> memory_;
  Element* own_ = nullptr;
  std::vector<MPI_Aint> bases_;  // of dynamic windows
  std::vector<std::vector<Element>> model_;
  std::vector<std::vector<std::pair<Role, int>>> roles_;  // of each element: what is done to it, and by whom
  std::vector<std::function<void()>> checks_;
  std::vector<std::unique_ptr<Element>> compared_;
};

template <class Element>
void run(unsigned seed, unsigned epochs) {
  Run<Element> run(seed);
  for (unsigned epoch = 1; epoch <= epochs; ++epoch) run.epoch(epoch);
  run.close();
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const unsigned first = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  const unsigned epochs = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 10;
  for (unsigned seed = first; seed < first + 12; ++seed) {
    switch (seed % 4) {
      case 0:
        run<signed char>(seed, epochs);
        break;
      case 1:
        run<long long>(seed, epochs);
        break;
      case 2:
        run<short>(seed, epochs);
        break;
      default:
        run<int>(seed, epochs);
    }
  }
}
