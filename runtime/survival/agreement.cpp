// SPDX-License-Identifier: BSD-3-Clause
#include "survival/agreement.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::survival {
namespace {

using Kind = Message::Kind;

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& to, const Ranks& ranks) {
  to.append(reinterpret_cast<const char*>(ranks.words().data()), ranks.words().size_bytes());
}

// Takes values off the front of a text, as long as there is enough of it.
class Reader {
 public:
  Reader(std::string_view from, int size) : from_(from), size_(size) {}
  template <class T>
  T get() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  // A bool of another value is none.
  bool flag() {
    const auto value = get<uint8_t>();
    good_ = good_ && value <= 1;
    return value != 0;
  }
  Ranks ranks() {
    Ranks out(size_);
    take(out.words().data(), out.words().size_bytes());
    return out;
  }
  bool is_good() const { return good_ && from_.empty(); }

 private:
  void take(void* into, size_t bytes) {
    good_ = good_ && from_.size() >= bytes;
    if (!good_) return;
    std::memcpy(into, from_.data(), bytes);
    from_.remove_prefix(bytes);
  }
  std::string_view from_;
  const int size_;
  bool good_ = true;
};

}  // namespace

void Message::write(std::string& to) const {
  put(to, kind);
  if (kind == Kind::contribution) {
    put(to, contribution.flag);
    put(to, contribution.settled);
    put(to, contribution.acknowledged);
    put(to, contribution.failed);
  }
  put(to, decision.has_value());
  if (!decision) return;
  put(to, decision->flags);
  put(to, decision->contributors);
  put(to, decision->failed);
  put(to, decision->unacknowledged);
  put(to, decision->word);
  put(to, decision->settled);
}

std::optional<Message> Message::read(std::string_view from, int size) {
  Reader reader(from, size);
  Message out;
  out.kind = reader.get<Kind>();
  if (out.kind == Kind::contribution) {
    out.contribution.flag = reader.get<uint64_t>();
    out.contribution.settled = reader.get<uint32_t>();
    out.contribution.acknowledged = reader.ranks();
    out.contribution.failed = reader.ranks();
  }
  if (reader.flag()) {
    Decision& decision = out.decision.emplace();
    for (uint64_t& flag : decision.flags) flag = reader.get<uint64_t>();
    decision.contributors = reader.ranks();
    decision.failed = reader.ranks();
    decision.unacknowledged = reader.flag();
    decision.word = reader.get<uint64_t>();
    decision.settled = reader.get<uint32_t>();
  }
  return reader.is_good() ? std::optional(std::move(out)) : std::nullopt;
}

Agreement::Agreement(const Shape& shape)
    : shape_(shape),
      living_(Ranks::all(shape.size)),
      gathered_(static_cast<size_t>(shape.size)),
      adopters_(shape.size) {}

void Agreement::contribute(Contribution mine) {
  if (mine_) return;
  mine_ = std::move(mine);
  gathered_[static_cast<size_t>(shape_.rank)] = mine_;
  tell_coordinator();
  go_on();
}

void Agreement::fail(int rank) {
  if (rank == shape_.rank || !living_.has(rank)) return;
  living_.remove(rank);
  tell_coordinator();
  go_on();
}

// Each coordinator is told once: what this rank contributes, or what has been decided.
void Agreement::tell_coordinator() {
  if (leads() || coordinator() == told_) return;
  if (decision_) {
    told_ = coordinator();
    out_.push_back({told_, {.kind = Kind::decision, .contribution = {}, .decision = decision_}});
  } else if (mine_) {
    told_ = coordinator();
    out_.push_back({told_, {.kind = Kind::contribution, .contribution = *mine_, .decision = adopted_}});
  }
}

void Agreement::receive(int from, const Message& message) {
  if (message.kind == Kind::decision) {
    if (!message.decision) return;
    if (from == coordinator()) told_ = from;
    decide(*message.decision);
    return tell_coordinator();
  }
  if (!living_.has(from)) return;  // what a coordinator that has failed had proposed may not be the next one's
  if (message.kind == Kind::contribution) {
    if (decision_) {
      out_.push_back({from, {.kind = Kind::decision, .contribution = {}, .decision = decision_}});
      return;
    }
    gathered_[static_cast<size_t>(from)] = message.contribution;
    if (message.decision && !adopted_) adopted_ = message.decision;
  } else if (message.kind == Kind::proposal) {
    if (!message.decision || from != coordinator()) return;
    if (!decision_) adopted_ = message.decision;
    out_.push_back(
        {from, {.kind = decision_ ? Kind::decision : Kind::adoption, .contribution = {}, .decision = decision_}});
  } else {
    adopters_.add(from);
  }
  go_on();
}

// As coordinator: is nobody missing for the next phase? One who became it behind the decision tells it to those who may
// have asked before.
void Agreement::go_on() {
  if (!leads()) return;
  if (decision_ && !announced_) {
    announced_ = true;
    send_to_all(Kind::decision);
  }
  if (decision_ || !mine_) return;
  if (!proposed_) {
    for (int rank = 0; rank < shape_.size; ++rank)
      if (living_.has(rank) && !gathered_[static_cast<size_t>(rank)]) return;
    if (!adopted_) adopted_ = proposal();
    proposed_ = true;
    adopters_.add(shape_.rank);
    send_to_all(Kind::proposal);
  }
  if (!adopters_.has_all_of(living_)) return;
  const Decision decision = *adopted_;
  decide(decision);
}

std::vector<int> Agreement::awaited() const {
  if (decision_ || proposed_) return {};
  if (!leads()) return {coordinator()};
  std::vector<int> out;
  for (int rank = 0; rank < shape_.size; ++rank)
    if (living_.has(rank) && !gathered_[static_cast<size_t>(rank)]) out.push_back(rank);
  return out;
}

void Agreement::send_to_all(Kind kind) {
  for (int rank = 0; rank < shape_.size; ++rank)
    if (rank != shape_.rank && living_.has(rank))
      out_.push_back({rank, {.kind = kind, .contribution = {}, .decision = adopted_}});
}

Decision Agreement::proposal() const {
  Decision out;
  out.contributors = Ranks(shape_.size);
  out.failed = Ranks(shape_.size);
  out.word = mine_->word;
  out.settled = mine_->settled;
  Ranks acknowledged = Ranks::all(shape_.size);
  for (int rank = 0; rank < shape_.size; ++rank) {
    const std::optional<Contribution>& one = gathered_[static_cast<size_t>(rank)];
    if (!one) continue;
    out.contributors.add(rank);
    out.flags[rank >= shape_.first_side] &= one->flag;
    out.failed |= one->failed;
    acknowledged &= one->acknowledged;
    out.settled = std::min(out.settled, one->settled);
  }
  const Ranks absent = out.contributors.others();
  out.failed |= absent;
  out.unacknowledged = !acknowledged.has_all_of(absent);
  return out;
}

// A coordinator tells everybody, and whoever else has heard of the decision tells each coordinator that comes after.
void Agreement::decide(const Decision& decision) {
  if (decision_) return;
  decision_ = adopted_ = decision;
  go_on();
}

}  // namespace tutti::survival
