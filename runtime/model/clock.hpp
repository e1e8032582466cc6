// SPDX-License-Identifier: BSD-3-Clause
// Events in the order of a made-up clock; those of one time in the order in which they were said.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace tutti::model {

template <class Event>
class Clock {
 public:
  void at(double time, const Event& event) { queue_.push({time, said_++, event}); }
  bool over() const { return queue_.empty(); }
  double now() const { return now_; }
  Event next() {
    const Entry entry = queue_.top();
    queue_.pop();
    now_ = entry.time;
    return entry.event;
  }

 private:
  struct Entry {
    double time;
    uint64_t number;
    Event event;
    bool operator<(const Entry& other) const {  // the queue's top is its greatest
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  std::priority_queue<Entry> queue_;
  uint64_t said_ = 0;
  double now_ = 0;
};

}  // namespace tutti::model
