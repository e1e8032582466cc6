// SPDX-License-Identifier: BSD-3-Clause
#include "life/blocked.hpp"

#include <set>

namespace tutti::life {
namespace {

const UnderWay* find(const UnderWay* under_way, const Actor& actor) {
  for (; under_way; under_way = under_way->next)
    if (under_way->context == actor.context && under_way->serial == actor.serial) return under_way;
  return nullptr;
}

}  // namespace

Awaited awaited(const Condition& needs, int self, const UnderWay* under_way) {
  Awaited found;
  std::set<int> named;
  // A collective waits for an earlier one of its lane, and so on: none is asked twice.
  std::set<const UnderWay*> known;
  std::vector<const UnderWay*> open;
  const auto take = [&](const Condition& condition) {
    found.some |= condition.has_choice();
    condition.each_actor([&](const Actor& actor) {
      const bool is_own = actor.process == self && !actor.is_process();
      const UnderWay* const own = is_own ? find(under_way, actor) : nullptr;
      if (!own)
        named.insert(actor.process);
      else if (known.insert(own).second)
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
