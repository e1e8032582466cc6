// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_short.hpp"

#include <utility>

#include "base/log.hpp"
#include "base/os/late_word.hpp"
#include "memory/movers.hpp"

namespace tutti::transport {
namespace {

// Receives that are posted at once. More messages that come in one piece of a stream wait in UCX, at
// the price of one copy more.
constexpr int kPosted = 8;

}  // namespace

// Both in one run, as they travel.
struct UcxShort::Message {
  Header head;
  std::byte bytes[kLongest];
};

struct UcxShort::Outbound : Message {
  UcxShort* owner;
  int peer;
};

struct UcxShort::Posted : Message {
  UcxShort* owner = nullptr;
  Posted* next = nullptr;  // that is idle, too
  void* request = nullptr;
};

UcxShort::UcxShort(ucp_worker_h worker, Lost lost)
    : worker_(worker),
      lost_(std::move(lost)),
      next_(std::make_unique_for_overwrite<Outbound>()),
      posted_(std::make_unique<Posted[]>(kPosted)) {
  for (int i = 0; i < kPosted; ++i) {
    posted_[i].owner = this;
    posted_[i].next = std::exchange(idle_, &posted_[i]);
  }
}

UcxShort::~UcxShort() = default;

void UcxShort::withdraw() {
  for (int i = 0; i < kPosted; ++i)
    if (posted_[i].request) ucp_request_cancel(worker_, posted_[i].request);
}

bool UcxShort::send_now(int peer, ucp_ep_h endpoint, const Header& header, uint64_t ticket, const std::byte* data) {
  if (waits_) [[unlikely]]  // whoever sends more is to wait, too
    return false;
  next_->head = header;
  next_->head.ticket = ticket;
  const auto bytes = static_cast<size_t>(header.bytes);
  memory::copy(next_->bytes, data, header.bytes);
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = next_.get();
  param.cb.send = [](void* request, ucs_status_t status, void* user_data) TUTTI_ENGINE_OWNED {
    ucp_request_free(request);
    const std::unique_ptr<Outbound> left(static_cast<Outbound*>(user_data));
    left->owner->waits_ = false;
    if (left->owner->silent_) return;
    left->owner->receiver_->unsent(-1);
    if (status != UCS_OK && status != UCS_ERR_CANCELED) left->owner->lost_(left->peer, status);
  };
  const ucs_status_ptr_t request = ucp_tag_send_nbx(endpoint, &next_->head, sizeof(Header) + bytes, 0, &param);
  if (UCS_PTR_IS_PTR(request)) [[unlikely]] {
    next_->owner = this;
    next_->peer = peer;
    static_cast<void>(next_.release());  // the request's until it has left
    next_ = std::make_unique_for_overwrite<Outbound>();
    waits_ = true;
    receiver_->unsent(1);
  }
  return !UCS_PTR_IS_ERR(request);
}

bool UcxShort::take_and_post() {
  bool taken = false;
  while (Posted* const posted = idle_) {
    ucp_request_param_t param;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = posted;
    param.cb.recv = [](void* request, ucs_status_t status, const ucp_tag_recv_info_t*, void* user_data)
                        TUTTI_ENGINE_OWNED {
                          ucp_request_free(request);
                          auto& filled = *static_cast<Posted*>(user_data);
                          UcxShort& owner = *filled.owner;
                          filled.request = nullptr;
                          if (owner.silent_) return;
                          owner.hand_over(filled, status);
                          filled.next = std::exchange(owner.idle_, &filled);
                        };
    const ucs_status_ptr_t request = ucp_tag_recv_nbx(worker_, &posted->head, sizeof(Message), 0, 0, &param);
    if (UCS_PTR_IS_PTR(request)) {
      idle_ = posted->next;
      posted->request = request;
      continue;
    }
    hand_over(*posted, UCS_PTR_STATUS(request));  // it was there
    if (UCS_PTR_IS_ERR(request)) break;
    taken = true;
  }
  return taken;
}

inline void UcxShort::hand_over(const Posted& filled, ucs_status_t status) const {
  if (status != UCS_OK) {
    say_unless_ended(fmt::format("a message is lost: UCX cannot receive: {}", ucs_status_string(status)));
    return;
  }
  receiver_->arrived({.header = filled.head, .data = filled.bytes});
}

}  // namespace tutti::transport
