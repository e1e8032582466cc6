// SPDX-License-Identifier: BSD-3-Clause
// Short messages over UCX's tcp. An active message goes to the kernel in three pieces, or in one that
// takes a request and a datatype to pack; a tagged message of UCX's goes in one, and takes less than
// half of the instructions. So a header and its bytes travel as one tagged message, which is for
// whatever receive is posted: the matching is the engine's.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "base/engine_owned.hpp"
#include "transport/transport.hpp"

namespace tutti::transport {

class UcxShort {
 public:
  static constexpr int64_t kLongest = 2 << 10;  // bytes of a message, without its header

  // What could not be sent to `peer`, of which nobody else hears.
  using Lost = std::function<void(int peer, ucs_status_t)>;

  UcxShort(ucp_worker_h worker, Lost lost);
  ~UcxShort();  // after the worker has gone
  UcxShort(const UcxShort&) = delete;

  void set_receiver(Receiver& receiver) { receiver_ = &receiver; }
  // Transport::send_now().
  bool send_now(int peer, ucp_ep_h endpoint, const Header& header, uint64_t ticket,
                const std::byte* data) TUTTI_ENGINE_OWNED;
  // Before the worker progresses: hands over what has come while nothing was posted for it, and posts
  // anew. True if there was something.
  bool progress() TUTTI_ENGINE_OWNED { return idle_ && take_and_post(); }
  // The end comes: from here on the receiver, which may be gone, hears nothing.
  void fall_silent() TUTTI_ENGINE_OWNED { silent_ = true; }
  // Behind that, and before the worker goes: nothing is posted any more.
  void withdraw() TUTTI_ENGINE_OWNED;

 private:
  struct Message;
  struct Outbound;
  struct Posted;
  bool take_and_post() TUTTI_ENGINE_OWNED;
  void hand_over(const Posted& filled, ucs_status_t status) const TUTTI_ENGINE_OWNED;

  ucp_worker_h worker_;
  const Lost lost_;
  Receiver* receiver_ = nullptr;
  std::unique_ptr<Outbound> next_;  // what is sent next is put together here
  bool waits_ = false;              // the one before could not leave at once
  std::unique_ptr<Posted[]> posted_;
  Posted* idle_ = nullptr;  // the first of those to be posted
  bool silent_ = false;
};

}  // namespace tutti::transport
