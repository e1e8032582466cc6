// SPDX-License-Identifier: BSD-3-Clause
// Whose action a blocked call needs: a formula of ANDs and ORs over processes, asked for only when
// a rank has stood still for long. A leaf is either a process, one of whose threads has to make a
// call, or a collective under way at a process, which goes on without any thread's help.
// Data alone: who is asked for one is blocked.hpp's, what it means that all of a set wait for each other
// contract/deadlock.hpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tutti::life {

// The calls of one collective, or, with context 0, the process' threads.
struct Actor {
  int32_t process = 0;
  uint64_t context = 0;  // of a hidden channel
  uint32_t serial = 0;

  bool is_process() const { return context == 0; }
  friend bool operator==(const Actor& a, const Actor& b) {
    return a.process == b.process && a.context == b.context && a.serial == b.serial;
  }
};

// Written in prefix order: all() and any() open a group, end() closes it. An empty any() can never
// come true, an empty all() is true: so is a condition to which nothing was added.
class Condition {
 public:
  enum class Kind : uint8_t { all, any, actor, some };
  struct Node {
    Kind kind = Kind::all;
    uint32_t end = 0;  // the index after the group
    Actor actor;       // of `some`: the first
    // Of `some`: how many processes there are, and by how much the number of each is above the one's before it.
    uint32_t count = 1;
    int32_t stride = 1;

    int process(uint32_t at) const { return actor.process + static_cast<int>(at) * stride; }
  };

  Condition& all() { return open(Kind::all); }
  Condition& any() { return open(Kind::any); }
  Condition& end() {
    nodes_[open_.back()].end = static_cast<uint32_t>(nodes_.size());
    open_.pop_back();
    return *this;
  }
  Condition& process(int id) { return add({id}); }
  Condition& collective(int process, uint64_t context, uint32_t serial) { return add({process, context, serial}); }
  // Any of `count` processes: first, first + stride, ... Takes the same room however many they are.
  Condition& some(int first, int count, int stride = 1) {
    nodes_.push_back({.kind = Kind::some,
                      .end = static_cast<uint32_t>(nodes_.size() + 1),
                      .actor = {first},
                      .count = static_cast<uint32_t>(count),
                      .stride = stride});
    return *this;
  }
  Condition& always() { return all().end(); }  // needs nobody, or it is not known whom
  Condition& never() { return any().end(); }

  // What is missing, in words, where who has to act says too little: "1 of 2 partitions of a message".
  Condition& lacks(std::string what) {
    lacking_ = std::move(what);
    return *this;
  }
  const std::string& lacking() const { return lacking_; }

  // Which operation a call waits for that is given nothing but requests; `text()`: "a receive with tag 5". The first
  // one is told, and how many there are.
  template <class Text>
  void awaits(Text&& text) {
    if (awaited_count_++ == 0) awaited_ = text();
  }
  const std::string& awaited() const { return awaited_; }
  uint32_t awaited_count() const { return awaited_count_; }

  // Several at the top: all of them.
  template <class Alive>
  bool holds(Alive&& alive) const {
    return all_hold(0, static_cast<uint32_t>(nodes_.size()), alive);
  }
  // Is any part of it true that could be true by itself?
  template <class Alive>
  bool holds_in_part(Alive&& alive) const {
    for (uint32_t i = 0; i < nodes_.size(); i = nodes_[i].end)
      if (node_holds(i, alive)) return true;
    return nodes_.empty();
  }
  template <class Visit>
  void each_actor(Visit&& visit) const {
    for (const Node& node : nodes_) {
      if (node.kind == Kind::actor) visit(node.actor);
      if (node.kind != Kind::some) continue;
      for (uint32_t i = 0; i < node.count; ++i) visit(Actor{node.process(i)});
    }
  }
  // Is there a group of which one of several will do?
  bool has_choice() const {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (node.kind == Kind::any && node.end > i + 1 && nodes_[i + 1].end < node.end) return true;
      if (node.kind == Kind::some && node.count > 1) return true;
    }
    return false;
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  void clear() {  // keeps its memory
    nodes_.clear();
    open_.clear();
    lacking_.clear();
    awaited_.clear();
    awaited_count_ = 0;
  }

  // The same with each process named by itself, as where their numbers mean nothing.
  Condition spelled_out() const;
  // Processes get other numbers. What needs one that gets none (-1) needs nobody that is known. It is spelled out.
  template <class Number>
  void renumber(Number&& number) {
    for (Node& node : nodes_)
      if (node.kind == Kind::actor && (node.actor.process = number(node.actor.process)) < 0) node.kind = Kind::all;
  }

  void write(std::vector<std::byte>& to) const;
  // Takes it off the front of `from`; false if that is no condition.
  bool read(std::span<const std::byte>& from);

 private:
  Condition& open(Kind kind) {
    open_.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back({.kind = kind, .actor = {}});
    return *this;
  }
  Condition& add(const Actor& actor) {
    nodes_.push_back({.kind = Kind::actor, .end = static_cast<uint32_t>(nodes_.size() + 1), .actor = actor});
    return *this;
  }
  template <class Alive>
  bool node_holds(uint32_t i, Alive& alive) const {
    const Node& node = nodes_[i];
    if (node.kind == Kind::actor) return alive(node.actor);
    if (node.kind == Kind::all) return all_hold(i + 1, node.end, alive);
    if (node.kind == Kind::some) {
      for (uint32_t at = 0; at < node.count; ++at)
        if (alive(Actor{node.process(at)})) return true;
      return false;
    }
    for (uint32_t child = i + 1; child < node.end; child = nodes_[child].end)
      if (node_holds(child, alive)) return true;
    return false;
  }
  template <class Alive>
  bool all_hold(uint32_t from, uint32_t to, Alive& alive) const {
    for (uint32_t child = from; child < to; child = nodes_[child].end)
      if (!node_holds(child, alive)) return false;
    return true;
  }

  std::vector<Node> nodes_;
  std::vector<uint32_t> open_;
  std::string lacking_, awaited_;
  uint32_t awaited_count_ = 0;
};

}  // namespace tutti::life
