// SPDX-License-Identifier: BSD-3-Clause
#include "life/blocked.hpp"

#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

namespace tutti::life {
namespace {

// A program may have a hundred thousand collectives under way: so they are found by what names them, and no more than
// some are asked in turn. Those that are started first are asked first; what comes behind mostly waits for these.
constexpr size_t kMostAsked = 1000;

struct Hash {
  size_t operator()(const std::pair<uint64_t, uint32_t>& call) const {
    return std::hash<uint64_t>()(call.first * 0x9e3779b97f4a7c15 + call.second);
  }
};

// Collectives under way, by context and serial.
class Calls {
 public:
  explicit Calls(const UnderWay* first) : first_(first) {}
  // nullptr: it is not among them.
  const UnderWay* find(const Actor& actor) {
    for (; first_; first_ = first_->next) known_.emplace(std::pair(first_->context, first_->serial), first_);
    const auto at = known_.find({actor.context, actor.serial});
    return at == known_.end() ? nullptr : at->second;
  }

 private:
  const UnderWay* first_;  // of those that are not in the table yet
  std::unordered_map<std::pair<uint64_t, uint32_t>, const UnderWay*, Hash> known_;
};

}  // namespace

Awaited awaited(const Condition& needs, int self, const UnderWay* under_way) {
  Awaited found;
  std::set<int> named;
  // A collective waits for an earlier one of its lane, and so on: none is asked twice.
  std::set<const UnderWay*> known;
  std::vector<const UnderWay*> open;
  Calls calls(under_way);
  const auto take = [&](const Condition& condition) {
    found.some |= condition.has_choice();
    condition.each_actor([&](const Actor& actor) {
      const bool is_own = actor.process == self && !actor.is_process();
      const UnderWay* const own = is_own ? calls.find(actor) : nullptr;
      if (!own)
        named.insert(actor.process);
      else if (known.size() < kMostAsked && known.insert(own).second)
        open.push_back(own);
    });
  };
  take(needs);
  while (!open.empty()) {
    Condition next;
    open.back()->add_needs(next);
    open.pop_back();
    take(next);
  }
  if (named.size() > 1) named.erase(self);
  found.processes.assign(named.begin(), named.end());
  return found;
}

}  // namespace tutti::life
