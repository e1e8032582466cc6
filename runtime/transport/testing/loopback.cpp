// SPDX-License-Identifier: BSD-3-Clause
#include "transport/testing/loopback.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <random>
#include <utility>

#include "base/mutex.hpp"
#include "memory/movers.hpp"

namespace tutti::transport {
namespace {

struct Parcel {
  enum class What { message, fetched } what = What::message;
  Header header;
  std::vector<std::byte> bytes;
  Outgoing* lender = nullptr;  // rendezvous: whose memory is fetched from; or: who gets it back
  int from = 0;
};

}  // namespace

class Loopback final : public Transport {
 public:
  Loopback(LoopbackFabric& fabric, int process, uint64_t seed, int64_t rendezvous_from)
      : fabric_(fabric),
        process_(process),
        rendezvous_from_(rendezvous_from),
        random_(seed),
        event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Loopback() override { close(event_fd_); }

  void set_receiver(Receiver& receiver) override { receiver_ = &receiver; }

  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED {
    Parcel parcel{.header = outgoing.header, .from = process_};
    const int64_t bytes = outgoing.payload.bytes();
    const bool lends = bytes >= rendezvous_from_;
    if (lends) {
      parcel.lender = &outgoing;
    } else {
      parcel.bytes.resize(static_cast<size_t>(bytes));
      memory::pack(outgoing.payload, 0, parcel.bytes.data(), bytes);
    }
    fabric_.ends_[static_cast<size_t>(peer)]->put(std::move(parcel));
    if (!lends) outgoing.sent(outgoing, {});
  }

  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED {
    fabric_.ends_[static_cast<size_t>(peer)]->put({.header = header, .from = process_});
  }

  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED {
    const std::unique_ptr<Parcel> parcel(static_cast<Parcel*>(rendezvous));
    memory::copy(parcel->lender->payload, fetch.into);
    give_back(*parcel);
    fetch.fetched(fetch, {});
  }

  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED {
    give_back(*std::unique_ptr<Parcel>(static_cast<Parcel*>(rendezvous)));
  }

  bool progress() override TUTTI_ENGINE_OWNED {
    std::optional<Parcel> parcel = take_any();
    if (!parcel) return false;
    if (parcel->what == Parcel::What::fetched) {
      parcel->lender->sent(*parcel->lender, {});
    } else if (parcel->lender) {
      const Header header = parcel->header;
      receiver_->arrived({header, nullptr, new Parcel(*std::move(parcel))});
    } else {
      receiver_->arrived({parcel->header, parcel->bytes.data(), nullptr});
    }
    return true;
  }

  int descriptor() const override { return event_fd_; }
  bool arm(bool) override TUTTI_ENGINE_OWNED {
    const Lock lock(mutex_);
    if (!parcels_.empty()) return false;
    uint64_t count;
    [[maybe_unused]] const ssize_t n = read(event_fd_, &count, sizeof count);
    armed_ = true;
    return true;
  }
  bool flushed() override TUTTI_ENGINE_OWNED { return true; }

  void poke() {
    const Lock lock(mutex_);
    wake();
  }

 private:
  void give_back(const Parcel& parcel) {
    fabric_.ends_[static_cast<size_t>(parcel.from)]->put(
        {.what = Parcel::What::fetched, .lender = parcel.lender, .from = process_});
  }

  void put(Parcel parcel) {
    const Lock lock(mutex_);
    parcels_.push_back(std::move(parcel));
    wake();
  }
  void wake() TUTTI_REQUIRES(mutex_) {
    if (!std::exchange(armed_, false)) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(event_fd_, &one, sizeof one);
  }

  std::optional<Parcel> take_any() {
    const Lock lock(mutex_);
    if (parcels_.empty()) return std::nullopt;
    std::swap(parcels_[random_() % parcels_.size()], parcels_.back());
    Parcel parcel = std::move(parcels_.back());
    parcels_.pop_back();
    return parcel;
  }

  LoopbackFabric& fabric_;
  const int process_;
  const int64_t rendezvous_from_;
  std::minstd_rand random_;
  const int event_fd_;
  Receiver* receiver_ = nullptr;
  Mutex mutex_;  // of the two below: other ends put parcels
  std::vector<Parcel> parcels_ TUTTI_GUARDED_BY(mutex_);
  bool armed_ TUTTI_GUARDED_BY(mutex_) = false;
};

LoopbackFabric::LoopbackFabric(int size, uint64_t seed, int64_t rendezvous_from) {
  for (int i = 0; i < size; ++i)
    ends_.push_back(std::make_unique<Loopback>(*this, i, seed + static_cast<uint64_t>(i) * 7919 + 1, rendezvous_from));
}
LoopbackFabric::~LoopbackFabric() = default;
Transport& LoopbackFabric::at(int process) {
  return *ends_[static_cast<size_t>(process)];
}
void LoopbackFabric::poke(int process) {
  ends_[static_cast<size_t>(process)]->poke();
}

}  // namespace tutti::transport
