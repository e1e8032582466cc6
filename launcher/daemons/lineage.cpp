// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/lineage.hpp"

namespace tutti::launcher {
namespace {

// How long this process has been stopped, or starved, if it was: what has come meanwhile is still to be read.
std::chrono::nanoseconds absence(Moment& latest, Moment now, const Pace& pace) {
  const auto gap = now - std::exchange(latest, now);
  return latest - gap == Moment() || gap < pace.beat / 4 ? std::chrono::nanoseconds(0) : gap;
}

}  // namespace

Tenure::Tenure(Pace pace, int ancestors, Moment now)
    : pace_(pace), ancestors_(ancestors), leased_(now), next_beat_(now), next_try_(now) {}

void Tenure::answered(int beat) {
  while (!sent_.empty() && sent_.front().first <= beat) {
    if (approached_ < 0 && !lost_) leased_ = sent_.front().second;
    sent_.pop_front();
  }
}

void Tenure::greeted(Moment now) {
  if (approached_ >= 0) until_ = now + pace_.beat;
}

void Tenure::adopted(Moment now) {
  if (approached_ < 0 || lost_) return;
  above_ = std::exchange(approached_, -1);
  leased_ = asked_;
  next_beat_ = now;
}

// The nearest one that lives; the nearest ones again when all have been asked in vain.
Tenure::Action Tenure::approach_next(Moment now) {
  if (approached_ < 0) sent_.clear();
  approached_ = approached_ < 0 || approached_ == ancestors_ - 1 ? above_ + 1 : approached_ + 1;
  if (approached_ == ancestors_ - 1) next_try_ = now + pace_.beat / 8;
  lost_ = false;
  asked_ = now;
  until_ = now + pace_.beat * 3 / 8;
  ++epoch_;
  return {Action::What::approach, approached_};
}

std::vector<Tenure::Action> Tenure::pass(Moment now) {
  const bool has_place = approached_ < 0;
  ends_ = ends_ || now >= lease_ends() || (has_place && lost_ && at_mpirun());
  if (ends_) return {{Action::What::end, 0}};
  const bool is_silent = has_place && !at_mpirun() && now >= leased_ + pace_.patience();
  const bool in_vain = !has_place && (lost_ || now >= until_);
  if ((has_place && lost_) || is_silent || in_vain) {
    if (now < next_try_) return {};
    return {approach_next(now)};
  }
  if (!has_place || now < next_beat_) return {};
  next_beat_ = now + pace_.beat;
  sent_.emplace_back(++beat_, now);
  return {{Action::What::beat, beat_}};
}

std::vector<int> Vigil::pass(Moment now) {
  const auto away = absence(latest_, now, pace_);
  std::vector<int> out;
  for (auto& [child, heard] : heard_) {
    heard += away;
    if (now - heard > pace_.suspicion()) out.push_back(child);
  }
  for (const int child : out) heard_.erase(child);
  return out;
}

void Lineage::place(int node, int above) {
  members_[node].above = above;
}

bool Lineage::lives(int node) const {
  if (node == kMpirun) return true;
  const auto member = members_.find(node);
  return member != members_.end() && !member->second.dead;
}

bool Lineage::attach(int node, int epoch, int above) {
  if (!lives(node) || !lives(above)) return false;
  Member& member = members_.at(node);
  if (epoch <= member.epoch) return false;
  member = {.above = above, .epoch = epoch, .adrift_since = {}};
  return true;
}

void Lineage::set_adrift(Member& member, Moment now) {
  if (member.dead || std::exchange(member.adrift, true)) return;
  member.adrift_since = now;
}

bool Lineage::part(int node, int epoch, int above, bool left, Moment now) {
  if (!lives(node)) return false;
  Member& member = members_.at(node);
  if (member.epoch != epoch || member.above != above) return false;
  if (left)
    set_adrift(member, now);
  else
    bury(node, now);
  return !left;
}

void Lineage::bury(int node, Moment now) {
  if (!lives(node)) return;
  members_.at(node).dead = true;
  for (auto& [number, member] : members_)
    if (member.above == node) set_adrift(member, now);
}

std::vector<int> Lineage::pass(Moment now) {
  const auto away = absence(latest_, now, pace_);
  std::vector<int> out;
  for (auto& [node, member] : members_) {
    member.adrift_since += away;
    if (!member.dead && member.adrift && now - member.adrift_since > pace_.suspicion()) out.push_back(node);
  }
  for (const int node : out) bury(node, now);
  return out;
}

std::vector<int> Lineage::way(int node) const {
  std::deque<int> out;
  for (int at = node; at != kMpirun; at = members_.at(at).above) {
    if (!lives(at)) return {};
    out.push_front(at);
  }
  return {out.begin(), out.end()};
}

std::vector<int> Lineage::with_those_below(int node) const {
  std::vector<int> out;
  for (const auto& [number, member] : members_) {
    if (member.dead) continue;
    int at = number;
    while (at != node && at != kMpirun) at = members_.at(at).above;
    if (at == node) out.push_back(number);
  }
  return out;
}

}  // namespace tutti::launcher
