// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/exchange.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.hpp"
#include "launcher/node/environment.hpp"

namespace tutti::launcher {

// A key begins with the members, "namespace:rank " each; an all-including rank stands for all.
std::set<int> Exchange::nodes_of_fence(const std::string& key) const {
  std::set<int> out;
  for (size_t at = 0; at < key.size() && key[at] != '#';) {
    const size_t space = std::min(key.find(' ', at), key.size());
    const size_t colon = key.rfind(':', space);
    const uint64_t rank = std::strtoull(key.c_str() + colon + 1, nullptr, 10);
    if (key.compare(at, colon - at, namespace_) != 0) {
      // Its own launcher knows where it is.
    } else if (rank < nodes_.map().ranks.size())
      out.insert(nodes_.node_of(static_cast<int>(rank)));
    else
      for (int n = 0; n < nodes_.count(); ++n) out.insert(n);
    at = space + 1;
  }
  return out;
}

void Exchange::fence(int node, const std::string& key, const std::string& data, const Addresses& addresses) {
  auto [at, fresh] = fences_.try_emplace(key);
  Fence& fence = at->second;
  if (fresh) {
    fence.missing = nodes_of_fence(key);
    for (const int empty : empty_) fence.missing.erase(empty);
  }
  fence.missing.erase(node);
  fence.data[node] = data;
  fence.addresses.add(addresses);
  meet_if_complete(key);
}

void Exchange::meet_if_complete(const std::string& key) {
  Fence& fence = fences_.at(key);
  if (!fence.missing.empty()) return;
  if (!fence.addresses.key().empty()) published_ = std::move(fence.addresses);
  std::string all;
  for (const auto& [from, bytes] : fence.data) all += bytes;
  if (beyond_ && is_beyond(key)) return beyond_->meet(key, all);
  met(key, 0, all);
}

void Exchange::begin(const NodeTask& task) {
  namespace_ = namespace_of(task);
  environment_ = task.environment;
  for (const NodeTask& kin : std::exchange(kin_, {})) learn(kin);
}

// Others than this job's ranks take part.
bool Exchange::is_beyond(const std::string& key) const {
  return std::ranges::any_of(namespaces_of(key), [this](const std::string& name) { return name != namespace_; });
}

void Exchange::met(const std::string& key, int status, const std::string& data) {
  const auto fence = fences_.extract(key);
  if (fence.empty()) return;
  have_met_ = true;
  const Common<FenceEnd> end({key, status, data});
  for (const auto& [to, bytes] : fence.mapped().data)
    if (!nodes_[to].lost) nodes_.node(to).fence_done(end);
}

void Exchange::expect_nothing_of(const std::set<int>& nodes) {
  empty_ = nodes;
  std::vector<std::string> open;
  for (auto& [key, fence] : fences_) {
    for (const int node : nodes) fence.missing.erase(node);
    open.push_back(key);
  }
  for (const std::string& key : open) meet_if_complete(key);
}

void Exchange::asked(int node, uint64_t number, const Ask& ask) {
  if (!beyond_) return nodes_.node(node).reply(number, {.outcome = Outcome::refused});
  Ask mine = ask;
  if (ask.what == Ask::What::spawn) {
    const JobMap& map = nodes_.map();
    mine.environment = environment_;
    const int rank = std::atoi(ask.who.c_str() + ask.who.rfind(':') + 1);
    const RankPlace place = map.ranks[static_cast<size_t>(std::clamp(rank, 0, static_cast<int>(map.ranks.size()) - 1))];
    for (const std::string& pair : map.apps[static_cast<size_t>(place.app)].variables)
      put_variable(mine.environment, pair);
  }
  asks_[next_ask_] = {node, number};
  beyond_->ask(next_ask_++, mine);
}

void Exchange::replied(uint64_t number, const Reply& reply) {
  const auto ask = asks_.extract(number);
  if (ask.empty()) return;
  const auto [node, token, holder] = ask.mapped();
  if (!nodes_[node].lost) nodes_.node(node).reply(token, reply);
}

void Exchange::learn(const NodeTask& kin) {
  if (nodes_.count() == 0) return kin_.push_back(kin);
  const Common<NodeTask> common(kin);
  for (JobNodes::State& node : nodes_.all())
    if (!node.lost) node.node->learn(common);
}

void Exchange::modex_wanted(int node, uint64_t token, int rank) {
  if (rank < 0 || static_cast<size_t>(rank) >= nodes_.map().ranks.size())
    return nodes_.node(node).modex_answer(token, -1, "");
  const int holder = nodes_.node_of(rank);
  if (nodes_[holder].lost) return nodes_.node(node).modex_answer(token, -1, "");
  modexes_[next_modex_] = {node, token, holder};
  say(Level::debug, "[{}] asks for what rank {} on {} has published", nodes_.name(node), rank, nodes_.name(holder));
  nodes_.node(holder).find_modex(next_modex_++, rank);
}

void Exchange::wanted(uint64_t number, int rank) {
  if (rank < 0 || static_cast<size_t>(rank) >= nodes_.map().ranks.size() || nodes_[nodes_.node_of(rank)].lost)
    return beyond_->answer(number, -1, "");
  modexes_[next_modex_] = {kBeyond, number, nodes_.node_of(rank)};
  nodes_.node(nodes_.node_of(rank)).find_modex(next_modex_++, rank);
}

void Exchange::modex_found(uint64_t token, int status, const std::string& data) {
  const auto question = modexes_.find(token);
  if (question == modexes_.end()) return;
  const auto [node, asked, holder] = question->second;
  modexes_.erase(question);
  if (node == kBeyond) return beyond_->answer(asked, status, data);
  if (!nodes_[node].lost) nodes_.node(node).modex_answer(asked, status, data);
}

void Exchange::node_lost(int node) {
  std::vector<uint64_t> open;
  for (const auto& [token, question] : modexes_)
    if (question.holder == node) open.push_back(token);
  for (const uint64_t token : open) modex_found(token, -1, "");
}

// The addresses of all ranks have come with the fence behind which any of them is asked for: each node is told once,
// however many of its ranks ask for however many others.
void Exchange::addresses_wanted(int node, const std::string& key) {
  if (spread_ == key) return;   // the answer has met the question
  if (published_.key() != key)  // the node asks for each where it is
    return nodes_.node(node).take_addresses(Common<Addresses>({.key = key, .packed = {}}));
  say(Level::debug, "the addresses of all ranks are spread");
  spread_ = key;
  for (Addresses& piece : published_.take()) {
    const Common<Addresses> common(std::move(piece));
    for (JobNodes::State& each : nodes_.all())
      if (!each.lost) each.node->take_addresses(common);
  }
}

void Exchange::event(int node, const std::string& packed) {
  for (int n = 0; n < nodes_.count(); ++n)
    if (n != node && !nodes_[n].lost) nodes_.node(n).deliver_event(packed);
}

}  // namespace tutti::launcher
