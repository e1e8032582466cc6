// SPDX-License-Identifier: BSD-3-Clause
// Tries a small protocol in every order that C++ allows. Its threads are functions that touch shared words through Word alone;
// explore() runs them again and again, until each choice that there was has been taken each way: who is next, and which of the
// values that a word has had a load returns.
//
// The model is that of views: a word keeps all that was ever stored to it, in order; each thread has a view, the oldest of each
// word's values that it may still see; a store that releases sends its view along, a load that acquires takes over the view
// that came with the value. A fence of sequential consistency exchanges views with all such fences before it, and
// remote_fence(), membarrier(2), has all threads do so. Plain memory has to be ordered by these: where a thread reads what it
// need not see, or writes what another one may still read, the execution is wrong. What is not in the model is an atomic load
// that is put off beyond a store behind it: here each such load acquires, or its value decides whether there is a store.
//
// Owns threads' stacks, words, and the tree of choices; refuses to know what the protocol is for.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tutti::weak {

using View = std::vector<uint32_t>;  // by word: the oldest of its values that may be seen

inline void join(View& into, const View& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

// When another thread gets its turn.
enum class Turns {
  // Before each access.
  always,
  // When a load wants a value that is not stored yet. That is as good where each word has one writer: a load that returns an
  // old value stands for a thread that was here before the store.
  for_later_values,
};

// What became of all executions. One that was given up stands for others that were not.
struct Tried {
  long whole = 0;  // to the end
  long given_up = 0;
  long stuck = 0;  // some thread sleeps, and nobody is left to wake it
  long wrong = 0;  // somebody has said so
};

class Explorer {
 public:
  explicit Explorer(Turns turns) : turns_(turns) {}
  Explorer(const Explorer&) = delete;

  // `begin` makes the words and the threads' functions of one execution; what it captures has to outlive that. The functions
  // own nothing that has a destructor, since those of an execution that is given up just stop.
  Tried explore(const std::function<std::vector<std::function<void()>>(Explorer&)>& begin) {
    Tried tried;
    do {
      at_ = 0;
      words_.clear();
      fenced_.clear();
      threads_.clear();
      gives_up_ = wrong_ = false;
      for (std::function<void()>& body : begin(*this)) {
        threads_.push_back(std::make_unique<Thread>(std::move(body), words_.size()));
        words_.emplace_back();
      }
      run();
      const bool all =
          std::all_of(threads_.begin(), threads_.end(), [](const auto& each) { return each->state == State::over; });
      // Who waits for a value that does not come has returned an older one in another execution.
      const bool sleeps =
          std::any_of(threads_.begin(), threads_.end(), [](const auto& each) { return each->state == State::sleeps; });
      ++(wrong_ ? tried.wrong : gives_up_ ? tried.given_up : all ? tried.whole : sleeps ? tried.stuck : tried.given_up);
    } while (next_path());
    return tried;
  }

  // ---- for the threads

  // This execution says no more than others do, such as one in which somebody has polled in vain once too often.
  void give_up() {
    gives_up_ = true;
    switch_to_scheduler();
  }
  void is_wrong() {
    wrong_ = true;
    switch_to_scheduler();
  }
  void fence() {
    turn();
    fence_of(*current_);
  }
  void remote_fence() {
    turn();
    fence_of(*current_);
    for (const auto& each : threads_)
      if (each.get() != current_) fence_of(*each);
    fence_of(*current_);
  }

 private:
  friend class Word;
  static constexpr size_t kStack = 64 << 10;
  enum class State { runs, wants_later, sleeps, over };
  struct Value {
    uint64_t value;
    View view;  // what whoever acquires it sees
  };
  struct Read {
    const void* by;
    size_t reads;    // Thread::reads
    uint32_t count;  // of that thread
  };
  struct Stored {
    std::vector<Value> values;
    std::vector<Read> reads;  // since the latest value, if it is plain memory
  };
  struct Thread {
    Thread(std::function<void()> function, size_t reads_word)
        : body(std::move(function)), reads(reads_word), stack(kStack) {}
    std::function<void()> body;
    const size_t reads;  // a word of nobody's, in views: how many reads of plain memory of this thread are known
    uint32_t reads_done = 0;
    std::vector<std::byte> stack;
    ucontext_t context;
    State state = State::runs;
    size_t word = 0, values = 0;   // wants_later: more than so many of that word's
    View sees, fetched, released;  // fetched: by loads that did not acquire; released: seen at the last fence
  };

  // One of `count`, in each execution another one.
  size_t choose(size_t count) {
    if (at_ == path_.size()) path_.push_back({0, count});
    return path_[at_++].first;
  }
  bool next_path() {
    while (!path_.empty() && path_.back().first + 1 == path_.back().second) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().first;
    return true;
  }

  static void enter(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<Explorer*>(static_cast<uintptr_t>(high) << 32 | low);
    self->current_->body();
    self->current_->state = State::over;
    self->switch_to_scheduler();
  }
  void switch_to_scheduler() { swapcontext(&current_->context, &scheduler_); }
  bool can_run(const Thread& thread) const {
    return thread.state == State::runs ||
           (thread.state == State::wants_later && words_[thread.word].values.size() > thread.values);
  }
  void run() {
    const auto self = reinterpret_cast<uintptr_t>(this);
    for (const auto& each : threads_) {
      getcontext(&each->context);
      each->context.uc_stack.ss_sp = each->stack.data();
      each->context.uc_stack.ss_size = each->stack.size();
      each->context.uc_link = nullptr;
      makecontext(&each->context, reinterpret_cast<void (*)()>(&Explorer::enter), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
    }
    while (!gives_up_ && !wrong_) {
      std::vector<Thread*> ready;
      for (const auto& each : threads_)
        if (can_run(*each)) ready.push_back(each.get());
      if (ready.empty()) return;
      current_ = turns_ == Turns::always ? ready[choose(ready.size())] : ready[0];
      current_->state = State::runs;
      swapcontext(&scheduler_, &current_->context);
    }
  }
  // Another thread may come in between.
  void turn() {
    if (turns_ == Turns::always) switch_to_scheduler();
  }

  void fence_of(Thread& thread) {
    join(thread.sees, thread.fetched);
    join(thread.sees, fenced_);
    fenced_ = thread.released = thread.sees;
  }
  void see(size_t word, size_t index, std::memory_order order) {
    Thread& thread = *current_;
    if (thread.sees.size() <= word) thread.sees.resize(word + 1);
    thread.sees[word] = std::max(thread.sees[word], static_cast<uint32_t>(index));
    join(order == std::memory_order_relaxed || order == std::memory_order_release ? thread.fetched : thread.sees,
         words_[word].values[index].view);
  }
  void add(size_t word, uint64_t value, std::memory_order order, const View& before) {
    Thread& thread = *current_;
    if (thread.sees.size() <= word) thread.sees.resize(word + 1);
    thread.sees[word] = static_cast<uint32_t>(words_[word].values.size());
    View view = before;
    join(view,
         order == std::memory_order_relaxed || order == std::memory_order_acquire ? thread.released : thread.sees);
    if (view.size() <= word) view.resize(word + 1);
    view[word] = thread.sees[word];
    words_[word].values.push_back({value, std::move(view)});
  }
  uint64_t load(size_t word, std::memory_order order) {
    turn();
    for (;;) {
      const std::vector<Value>& values = words_[word].values;
      const size_t oldest = seen(word), count = values.size() - oldest;
      const size_t chosen = choose(count + (turns_ == Turns::for_later_values ? 1 : 0));
      if (chosen < count) {
        see(word, oldest + chosen, order);
        return values[oldest + chosen].value;
      }
      // A later value: none of those that there are.
      current_->state = State::wants_later;
      current_->word = word;
      const size_t later = current_->values = values.size();
      switch_to_scheduler();
      if (current_->sees.size() <= word) current_->sees.resize(word + 1);
      current_->sees[word] = static_cast<uint32_t>(later);
    }
  }
  void store(size_t word, uint64_t value, std::memory_order order) {
    turn();
    add(word, value, order, {});
  }
  // Reads the latest value, as the standard wants it, and hands on what came with it (a release sequence). `changed` tells what
  // becomes of it, and of some nothing.
  uint64_t change(size_t word, std::memory_order order,
                  const std::function<std::optional<uint64_t>(uint64_t)>& changed) {
    turn();
    const Value before = words_[word].values.back();
    see(word, words_[word].values.size() - 1, order);
    if (const std::optional<uint64_t> value = changed(before.value)) add(word, *value, order, before.view);
    return before.value;
  }
  // Of plain memory nobody gets a turn in between: what is wrong with it is so in either order.
  uint64_t read(size_t word) {
    Stored& stored = words_[word];
    if (seen(word) + 1 != stored.values.size()) is_wrong();
    Thread& thread = *current_;
    if (thread.sees.size() <= thread.reads) thread.sees.resize(thread.reads + 1);
    thread.sees[thread.reads] = ++thread.reads_done;
    stored.reads.push_back({&thread, thread.reads, thread.reads_done});
    return stored.values.back().value;
  }
  void write(size_t word, uint64_t value) {
    Stored& stored = words_[word];
    if (seen(word) + 1 != stored.values.size()) is_wrong();
    for (const Read& read : stored.reads)
      if (read.by != current_ && seen(read.reads) < read.count) is_wrong();
    stored.reads.clear();
    add(word, value, std::memory_order_relaxed, {});
  }
  size_t seen(size_t word) const { return word < current_->sees.size() ? current_->sees[word] : 0; }
  // Until the word is not zero, as in a system call, which orders all.
  void sleep_while_zero(size_t word) {
    turn();
    while (words_[word].values.back().value == 0) {
      current_->state = State::sleeps;
      current_->word = word;
      switch_to_scheduler();
    }
    fence_of(*current_);
    see(word, words_[word].values.size() - 1, std::memory_order_acquire);
  }
  void wake_sleepers(size_t word) {
    for (const auto& each : threads_)
      if (each->state == State::sleeps && each->word == word) each->state = State::runs;
  }

  const Turns turns_;
  std::vector<std::pair<size_t, size_t>> path_;  // what was chosen, of how many
  size_t at_ = 0;                                // in it
  std::vector<Stored> words_;
  View fenced_;  // what all fences so far have seen
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* current_ = nullptr;
  ucontext_t scheduler_;
  bool gives_up_ = false, wrong_ = false;
};

// Of one execution. What std::atomic<uint64_t> has of the same names.
class Word {
 public:
  explicit Word(Explorer& explorer, uint64_t value = 0) : explorer_(&explorer), word_(explorer.words_.size()) {
    explorer.words_.push_back({{{value, {}}}, {}});
  }
  uint64_t load(std::memory_order order) const { return explorer_->load(word_, order); }
  void store(uint64_t value, std::memory_order order) const { explorer_->store(word_, value, order); }
  uint64_t exchange(uint64_t value, std::memory_order order) const {
    return explorer_->change(word_, order, [&](uint64_t) { return std::optional(value); });
  }
  uint64_t fetch_add(uint64_t more, std::memory_order order) const {
    return explorer_->change(word_, order, [&](uint64_t before) { return std::optional(before + more); });
  }
  bool compare_exchange(uint64_t expected, uint64_t value, std::memory_order order) const {
    return expected == explorer_->change(word_, order, [&](uint64_t before) {
      return before == expected ? std::optional(value) : std::nullopt;
    });
  }
  // As plain memory.
  uint64_t read() const { return explorer_->read(word_); }
  void write(uint64_t value) const { explorer_->write(word_, value); }
  // As a system call: for whom sleeps, and for all who come later.
  void ring() const {
    explorer_->fence();
    exchange(1, std::memory_order_acq_rel);
    explorer_->wake_sleepers(word_);
  }
  void sleep_while_zero() const { explorer_->sleep_while_zero(word_); }

 private:
  Explorer* explorer_;
  size_t word_;
};

}  // namespace tutti::weak
