// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/looks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::launcher {
namespace {

constexpr std::chrono::seconds kPatience{3};

}  // namespace

void Looks::wish(Wish wish) {
  waiting_.push_back(std::move(wish));
  if (current_.empty()) begin();
}

void Looks::look(const std::vector<int>& records_of, Then then) {
  wish({records_of, false, std::move(then)});
}

void Looks::look_together(Then then) {
  wish({{}, true, std::move(then)});
}

void Looks::begin() {
  current_ = std::exchange(waiting_, {});
  Question question{.number = ++number_, .records_of = {}, .together = std::ranges::all_of(current_, &Wish::together)};
  for (const Wish& wish : current_)
    question.records_of.insert(question.records_of.end(), wish.records_of.begin(), wish.records_of.end());
  view_ = {};
  groups_ = {};
  unseen_ = job_.nodes();
  if (unseen_.empty()) return end();
  patience_ = loop_.after(kPatience, [this] { end(); });
  const std::set<int> asked = unseen_;  // a node of this process answers at once
  for (const int node : asked) job_.ask(node, question);
}

void Looks::looked(int node, uint64_t number, std::vector<RankView> ranks) {
  if (number != number_ || unseen_.erase(node) == 0) return;
  std::ranges::move(ranks, std::back_inserter(view_.ranks));
  if (unseen_.empty()) end();
}

void Looks::grouped(int node, uint64_t number, std::vector<RankGroup> groups) {
  if (number != number_ || unseen_.erase(node) == 0) return;
  for (RankGroup& group : groups) groups_.add(std::move(group));
  if (unseen_.empty()) end();
}

void Looks::end() {
  patience_.reset();
  for (const int node : std::exchange(unseen_, {}))
    view_.notes.push_back(fmt::format("{} has not said in time what its ranks do", job_.name(node)));
  std::ranges::sort(view_.ranks, {}, &RankView::rank);
  // Who has wanted groups, while another one wanted each rank.
  if (std::ranges::any_of(current_, &Wish::together))
    for (const RankView& rank : view_.ranks) groups_.add(rank);
  view_.groups = groups_.take();
  view_.failed = job_.failed();
  const JobView view = std::move(view_);
  for (const Wish& wish : std::exchange(current_, {})) wish.then(view);
  if (!waiting_.empty() && current_.empty()) begin();
}

}  // namespace tutti::launcher
