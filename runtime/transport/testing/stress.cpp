// SPDX-License-Identifier: BSD-3-Clause
#include "transport/testing/stress.hpp"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/stress_mode.hpp"
#include "memory/movers.hpp"

namespace tutti::transport {
namespace {

class Stress final : public Transport, private Receiver {
 public:
  Stress(Transport& inner, const StressOptions& options)
      : inner_(inner), disturb_(options.disturb), seed_(mixed(options.seed, static_cast<uint64_t>(options.process))) {}

  void set_receiver(Receiver& receiver) override {
    receiver_ = &receiver;
    inner_.set_receiver(disturb_ ? *static_cast<Receiver*>(this) : receiver);
  }
  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED { inner_.send(peer, outgoing); }
  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED { inner_.notify(peer, header); }
  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED { inner_.fetch(rendezvous, fetch); }
  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED { inner_.discard(rendezvous); }
  Way way_to(int peer, bool connects) override TUTTI_ENGINE_OWNED { return inner_.way_to(peer, connects); }
  memory::Reach reach(int peer, memory::Region region) override TUTTI_ENGINE_OWNED {
    return inner_.reach(peer, region);
  }
  int descriptor() const override { return inner_.descriptor(); }
  void spread() override TUTTI_ENGINE_OWNED { inner_.spread(); }
  bool arm(bool by_flags) override TUTTI_ENGINE_OWNED { return held_ == 0 && inner_.arm(by_flags); }
  bool flushed() override TUTTI_ENGINE_OWNED { return inner_.flushed(); }

  bool progress() override TUTTI_ENGINE_OWNED {
    if (!disturb_) return inner_.progress();
    const uint64_t choice = mixed(seed_, ++pass_);
    const bool moved = choice % 8 != 0 && inner_.progress();
    return deliver_due(choice >> 8) || moved || held_ > 0;
  }

 private:
  struct Message {
    Header header;
    std::unique_ptr<std::byte[]> data;
    void* rendezvous = nullptr;
    uint64_t due = 0;  // the pass from which on it may be delivered
  };
  struct Stream {
    std::deque<Message> messages;
    uint64_t arrived = 0;
  };
  struct Source {
    uint32_t next_in = 0;                // order of the next one to take
    uint32_t next_out = 0;               // and to deliver: they are numbered anew
    std::map<uint32_t, Message> parked;  // came before their predecessors
    std::map<uint64_t, Stream> streams;  // by context; 0 are answers, of no context
  };

  void unsent(int more) override TUTTI_ENGINE_OWNED { receiver_->unsent(more); }
  bool takes_turns() override TUTTI_ENGINE_OWNED { return receiver_->takes_turns(); }
  Driver driver() override TUTTI_ENGINE_OWNED { return receiver_->driver(); }
  void arrived(const Arrival& arrival) override TUTTI_ENGINE_OWNED {
    Source& source = sources_[arrival.header.process];
    Message message{arrival.header, nullptr, arrival.rendezvous, 0};
    if (arrival.data && arrival.header.bytes > 0) {
      message.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(arrival.header.bytes));
      memory::copy(message.data.get(), arrival.data, arrival.header.bytes);
    }
    ++held_;
    source.parked.emplace(arrival.header.order, std::move(message));
    for (auto next = source.parked.find(source.next_in); next != source.parked.end();
         next = source.parked.find(++source.next_in)) {
      hold(source, std::move(next->second));
      source.parked.erase(next);
    }
  }

  void hold(Source& source, Message message) TUTTI_ENGINE_OWNED {
    // A message is withdrawn after it has come.
    if (message.header.kind == HeaderKind::cancel)
      for (auto& [context, stream] : source.streams)
        while (!stream.messages.empty()) deliver(source, stream);
    Stream& stream = source.streams[message.header.context];
    const uint64_t luck =
        mixed(mixed(seed_, message.header.context ^ stream.arrived++), static_cast<uint64_t>(message.header.process));
    message.due = pass_ + passes_late(luck);
    stream.messages.push_back(std::move(message));
  }

  void deliver(Source& source, Stream& stream) TUTTI_ENGINE_OWNED {
    Message message = std::move(stream.messages.front());
    stream.messages.pop_front();
    --held_;
    message.header.order = source.next_out++;
    receiver_->arrived({message.header, message.data.get(), message.rendezvous});
  }

  // One of each stream that is due, in an order by chance.
  bool deliver_due(uint64_t chance) TUTTI_ENGINE_OWNED {
    if (held_ == 0) return false;
    std::vector<std::pair<Source*, Stream*>> due;
    for (auto& [process, source] : sources_)
      for (auto& [context, stream] : source.streams)
        if (!stream.messages.empty() && stream.messages.front().due <= pass_) due.emplace_back(&source, &stream);
    for (size_t i = due.size(); i > 1; --i) std::swap(due[i - 1], due[mixed(chance, i) % i]);
    for (const auto& [source, stream] : due)
      if (!stream->messages.empty()) deliver(*source, *stream);
    return !due.empty();
  }

  Transport& inner_;
  const bool disturb_;
  const uint64_t seed_;
  Receiver* receiver_ = nullptr;
  std::map<int32_t, Source> sources_;  // by process
  uint64_t pass_ = 0;
  int64_t held_ = 0;
};

}  // namespace

std::unique_ptr<Transport> stressed(Transport& inner, const StressOptions& options) {
  return std::make_unique<Stress>(inner, options);
}

}  // namespace tutti::transport
