// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/chorus.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/daemons/patience.hpp"

namespace tutti::launcher {
namespace {

// Where nodes do not speak alike there is little to gain by waiting, and much to compare.
constexpr size_t kMostWords = 64;

}  // namespace

bool Chorus::sings(Message type) {
  return type == Message::launched || type == Message::ranks_ended || type == Message::finished;
}

void Chorus::put(int node, Message type, const Parcel& payload) {
  const auto find = [&] {
    return std::ranges::find_if(words_, [&](const Word& w) { return w.type == type && w.payload == payload; });
  };
  auto word = find();
  // It comes behind what the node has said before, also where others have said it already; and twice is twice.
  const auto before = latest_.find(node);
  if (before != latest_.end() && word != words_.end() &&
      before->second >= static_cast<size_t>(std::distance(words_.begin(), word))) {
    flush();
    word = words_.end();
  }
  if (word == words_.end()) {
    if (words_.size() == kMostWords) flush();
    if (words_.empty()) first_ = std::chrono::steady_clock::now();
    word = words_.insert(words_.end(), {type, payload, {}});
  }
  word->nodes.push_back(node);
  latest_[node] = static_cast<size_t>(std::distance(words_.begin(), word));
  if (word->nodes.size() >= members_.size()) return send_first(latest_[node] + 1);
  timer_ = loop_.after(patience_left(first_), [this] { flush(); });
}

void Chorus::send_first(size_t count) {
  std::vector<Word> rest = std::exchange(words_, {});
  std::vector<Word> first(std::make_move_iterator(rest.begin()),
                          std::make_move_iterator(rest.begin() + static_cast<std::ptrdiff_t>(count)));
  rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
  words_ = std::move(rest);
  std::erase_if(latest_, [count](const auto& entry) { return entry.second < count; });
  for (auto& [node, word] : latest_) word -= count;
  if (words_.empty()) timer_.reset();
  for (Word& word : first) {
    std::ranges::sort(word.nodes);
    send_(word.nodes, word.type, word.payload);
  }
}

}  // namespace tutti::launcher
