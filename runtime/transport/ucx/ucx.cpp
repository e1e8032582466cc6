// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx.hpp"

#include <mpi-ext.h>
#include <mpi.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/by_process.hpp"
#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "base/os/late_word.hpp"
#include "base/os/own_threads.hpp"
#include "base/os/probe.hpp"
#include "members/processes.hpp"
#include "memory/movers.hpp"
#include "transport/ends.hpp"
#include "transport/ucx/ucx_context.hpp"
#include "transport/ucx/ucx_guard.hpp"
#include "transport/ucx/ucx_hooks.hpp"
#include "transport/ucx/ucx_short.hpp"
#include "transport/ucx/ucx_words.hpp"

namespace tutti::transport {
namespace {

constexpr unsigned kMessageId = 1;  // the one active message id in use
constexpr std::chrono::seconds kLongestClose{5};

// A Payload with gaps travels as one element of this generic datatype, which packs and unpacks it
// piece by piece as UCX asks for bytes.
namespace packing {
void* start_pack(void*, const void* payload, size_t) {
  return const_cast<void*>(payload);
}
void* start_unpack(void*, void* payload, size_t) {
  return payload;
}
size_t packed_size(void* payload) {
  return static_cast<size_t>(static_cast<Payload*>(payload)->bytes());
}
size_t pack(void* payload, size_t offset, void* out, size_t room) {
  const auto& from = *static_cast<Payload*>(payload);
  const int64_t length = std::min<int64_t>(static_cast<int64_t>(room), from.bytes() - static_cast<int64_t>(offset));
  memory::pack(from, static_cast<int64_t>(offset), out, length);
  return static_cast<size_t>(length);
}
ucs_status_t unpack(void* payload, size_t offset, const void* in, size_t length) {
  memory::unpack(*static_cast<Payload*>(payload), static_cast<int64_t>(offset), in, static_cast<int64_t>(length));
  return UCS_OK;
}
void finish(void*) {}
constexpr ucp_generic_dt_ops_t kOps{start_pack, start_unpack, packed_size, pack, unpack, finish};
}  // namespace packing

__attribute__((constructor)) void while_loaded() {
  spare_thread_sanitizer();
}

// What is sent from UCX's callbacks to a peer that is not connected yet. To connect there crashes
// UCX's tcp (1.13.1) if more of that peer's messages lie in the buffer that it is handing out: the
// new endpoint takes the buffer over, and the old one gives back what it no longer has.
struct Late {
  int peer;
  Outgoing* outgoing;  // nullptr: `notice`
  Header notice;
};

// Large: its fields are what UCX hands out (context, worker, listener, endpoints) and the queues between UCX and the engine.
class UcxTransport final : public Ucx {
 public:
  ~UcxTransport() override;
  Error start(const UcxOptions& options);

  const std::string& address() const override { return address_; }
  void set_address_book(AddressBook book) override { book_ = std::move(book); }
  void lose(int peer) override;
  void set_receiver(Receiver& receiver) override {
    receiver_ = &receiver;
    if (short_) short_->set_receiver(receiver);
  }

  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override TUTTI_ENGINE_OWNED;
  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED;
  Way way_to(int peer, bool connects) override TUTTI_ENGINE_OWNED;
  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED;
  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED {
    if (!announced_by_.empty()) announced_by_.erase(rendezvous);
    ucp_am_data_release(worker_, rendezvous);
  }
  bool progress() override TUTTI_ENGINE_OWNED {
    const bool taken = short_ && short_->progress();
    return drive() || taken;
  }
  int descriptor() const override { return descriptor_; }
  bool arm(bool) override TUTTI_ENGINE_OWNED { return ucp_worker_arm(worker_) == UCS_OK; }
  bool flushed() override TUTTI_ENGINE_OWNED;

 private:
  static ucs_status_t on_message(void* self, const void* header, size_t header_length, void* data, size_t length,
                                 const ucp_am_recv_param_t* param) TUTTI_ENGINE_OWNED;
  bool drive() TUTTI_ENGINE_OWNED;
  bool is_too_early_for(int peer) const;
  // Before this process does.
  bool may_end(int peer) const { return survives_ || (members_ && members_->is_foreign(peer)); }
  // Of one that does: the program hears of it, and nobody else has to. An error that names no failure but is one comes
  // behind the report of it: who has heard of the error can ask who has failed.
  Error end_of_peer(int peer) const {
    if (survives_) members_->report(peer, members::State::failed, "cannot be reached any more");
    return Error(members_->is_foreign(peer) && !survives_ ? int{MPI_ERR_PROC_ABORTED} : int{MPIX_ERR_PROC_FAILED}, "");
  }
  void suspect(ucp_ep_h broken, ucs_status_t status);
  void lose_way(int peer, ucs_status_t status);
  void send_late() TUTTI_ENGINE_OWNED;
  Result<ucp_ep_h> endpoint(int peer);
  Result<ucp_ep_h> connect(int peer);
  Result<ucp_ep_h> try_to_connect(int peer);
  void describe(ucp_request_param_t& param, const void*& buffer, size_t& count, Payload& payload) const;
  void describe_as_packed(ucp_request_param_t& param, const void*& buffer, size_t& count, Payload& payload) const;
  void close_endpoints();

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_datatype_t gappy_ = 0;
  bool gappy_made_ = false;
  std::unique_ptr<UcxShort> short_;  // nullptr: short messages are active ones as all others
  std::string address_;
  AddressBook book_;
  Receiver* receiver_ = nullptr;
  ByProcess<ucp_ep_h> endpoints_;  // of those that were spoken to; nullptr: lost
  // What is under way to or from a process that may end before this one does. UCX's requests outlive that end, and
  // never complete.
  struct Fragile {
    int peer;
    UcxTransport* owner;
    Outgoing* outgoing;  // nullptr, both: it has had its error
    Fetch* fetch;
  };
  static void finish(Fragile* fragile, bool fine);
  static void report(Fragile& fragile, Error error);
  members::Processes* members_ = nullptr;
  bool survives_ = false;  // UcxOptions::survives
  bool has_lost_ = false;  // some peers
  std::set<Fragile*> fragile_;
  std::unordered_map<void*, int> announced_by_;  // long messages of those that may end, which wait for their receive
  std::vector<void*> flushes_;                   // of the endpoints, where the worker's would wait for ever
  bool within_ucx_ = false;                      // it calls back
  std::set<int> unasked_;                        // those that are connected for what may be lost alone
  std::vector<Late> late_;
  std::function<void(int, const Error&)> no_way_;
  int descriptor_ = -1;
  void* flush_ = nullptr;
};

// Of a worker, while it is opened (UCX 1.13 over tcp holds 12 then); and of
// connections to a peer, where as many may come from peers meanwhile (2 with 2 devices).
constexpr int kFilesOfWorker = 18, kFilesOfConnection = 8;
// What may be lost opens so many connections, and leaves the program so many files.
constexpr size_t kMostUnasked = 64;
constexpr int kFilesLeft = 32;

Error UcxTransport::start(const UcxOptions& options) {
  if (Error e = probe_descriptors(kFilesOfWorker)) return e;
  if (Error e = probe_threads(1)) return e;
  no_way_ = options.no_way;
  members_ = options.members;
  survives_ = options.survives;
  guard_ucx();
  const StartsOwnThreads of_ucx;  // some of its transports make one
  Result<UcxContext> opened = open_context(options);
  if (!opened) return std::move(opened).error();
  context_ = opened->context;

  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the engine's ownership serialises
  ucs_status_t status = ucp_worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return ucx_failure("make a worker", status);

  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = on_message;
  handler.arg = this;
  status = ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return ucx_failure("receive active messages", status);

  status = ucp_dt_create_generic(&packing::kOps, nullptr, &gappy_);
  if (status != UCS_OK) return ucx_failure("make a datatype", status);
  gappy_made_ = true;
  status = ucp_worker_get_efd(worker_, &descriptor_);
  if (status != UCS_OK) return ucx_failure("be waited for (no event descriptor)", status);

  if (opened->has_tags)
    short_ = std::make_unique<UcxShort>(worker_, [this](int peer, ucs_status_t why) { lose_way(peer, why); });
  keep_back_ucx_errors();              // those of its opening are told as they come
  if (survives_) say_no_ucx_errors();  // a connection breaks where a process has failed, which is told by who knows it
  ucp_address_t* address = nullptr;
  size_t length = 0;
  status = ucp_worker_get_address(worker_, &address, &length);
  if (status != UCS_OK) return ucx_failure("tell its address", status);
  address_.assign(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return {};
}

UcxTransport::~UcxTransport() {
  receiver_ = nullptr;  // what comes while the connections close is nobody's
  say_no_ucx_errors();  // all that was awaited has come; a peer may be gone before its connection is closed
  if (worker_) {
    if (short_) short_->fall_silent();
    close_endpoints();
    if (short_) short_->withdraw();
    if (flush_) ucp_request_free(flush_);
    ucp_worker_destroy(worker_);
  }
  if (gappy_made_) ucp_dt_destroy(gappy_);
  if (context_) ucp_cleanup(context_);
}

void UcxTransport::close_endpoints() {
  assume_engine_owned();  // called by the destructor alone: nobody else has it any more
  std::vector<void*> closing;
  const ucp_request_param_t param{};  // no force: what was sent leaves first
  endpoints_.each([&](int, ucp_ep_h ep) {
    if (!ep) return;
    void* request = ucp_ep_close_nbx(ep, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
  });
  const auto deadline = std::chrono::steady_clock::now() + kLongestClose;
  for (void* request : closing) {
    while (ucp_request_check_status(request) == UCS_INPROGRESS && std::chrono::steady_clock::now() < deadline) drive();
    ucp_request_free(request);
  }
}

bool UcxTransport::drive() {
  within_ucx_ = true;
  const bool moved = ucp_worker_progress(worker_) != 0;
  within_ucx_ = false;
  if (late_.empty()) [[likely]]
    return moved;
  send_late();
  return true;
}

bool UcxTransport::is_too_early_for(int peer) const {
  if (!within_ucx_) return false;
  const ucp_ep_h* const known = endpoints_.find(peer);
  return !known || !*known;
}

void UcxTransport::send_late() {
  for (const Late& late : std::exchange(late_, {})) {
    if (late.outgoing) {
      send(late.peer, *late.outgoing);
    } else {
      notify(late.peer, late.notice);
    }
  }
}

Result<ucp_ep_h> UcxTransport::endpoint(int peer) {
  const ucp_ep_h* const known = endpoints_.find(peer);
  if (known && *known) [[likely]]
    return *known;
  return connect(peer);
}

Result<ucp_ep_h> UcxTransport::connect(int peer) {
  Result<ucp_ep_h> connected = try_to_connect(peer);
  if (!connected && no_way_ && !may_end(peer)) no_way_(peer, connected.error());
  return connected;
}

// One that was made for what may be lost stays counted, also when the program uses it later, which nobody notices.
Transport::Way UcxTransport::way_to(int peer, bool connects) {
  if (const ucp_ep_h* const known = endpoints_.find(peer)) return *known ? Way::open : Way::closed;
  if (!connects) return Way::closed;
  if (within_ucx_) return Way::later;
  if (unasked_.size() >= kMostUnasked || probe_descriptors(kFilesOfConnection + kFilesLeft)) return Way::closed;
  if (!try_to_connect(peer)) return Way::closed;
  unasked_.insert(peer);
  return Way::open;
}

constexpr std::string_view kNoWay =
    "Either a firewall keeps tcp connections between the two away, which 'tutti doctor --host' with their nodes "
    "finds, or they share no transport: look at UCX_TLS, UCX_NET_DEVICES and the setting transport.ucx_tls";

Result<ucp_ep_h> UcxTransport::try_to_connect(int peer) {
  Result<std::string> address = book_(peer);
  if (!address) return std::move(address).error();
  if (Error e = probe_descriptors(kFilesOfConnection))
    return std::move(e).within(fmt::format("connecting to process {}", peer));
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(address->data());
  if (may_end(peer)) {
    // No handling of errors by UCX: 1.13 aborts the process at times when it fails an endpoint over tcp.
    params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.err_handler.arg = this;
    params.err_handler.cb = [](void* self, ucp_ep_h broken, ucs_status_t status) {
      static_cast<UcxTransport*>(self)->suspect(broken, status);
    };
  }
  ucp_ep_h ep = nullptr;
  const StartsOwnThreads of_ucx;
  const ucs_status_t status = ucp_ep_create(worker_, &params, &ep);
  TUTTI_FAULT_POINT("ucx.connecting");
  if (status != UCS_OK && may_end(peer)) return end_of_peer(peer);
  if (status != UCS_OK)
    return failure(MPI_ERR_OTHER, "UCX cannot connect to process {}: {}. {}", peer, ucs_status_string(status), kNoWay);
  endpoints_.set(peer, ep);
  say(Level::debug, "connected to process {} over UCX", peer);
  return ep;
}

// Something that is awaited at the other end will not come there, and no call of this process hears of it.
void UcxTransport::lose_way(int peer, ucs_status_t status) {
  if (may_end(peer)) return say(Level::debug, "a message to process {} is lost: {}", peer, ucs_status_string(status));
  if (no_way_ && says_ucx_errors())
    no_way_(peer, failure(MPI_ERR_OTHER, "its connection is lost (UCX: {}). {}", ucs_status_string(status), kNoWay));
}

// What waits for its other end is told by lose(), once that is known to have ended.
void UcxTransport::suspect(ucp_ep_h broken, ucs_status_t status) {
  endpoints_.each([&](int peer, ucp_ep_h ep) {
    if (ep == broken)
      members_->report(peer, members::State::suspected,
                       fmt::format("is not connected any more (UCX: {})", ucs_status_string(status)));
  });
}

void UcxTransport::describe(ucp_request_param_t& param, const void*& buffer, size_t& count, Payload& payload) const {
  if (payload.contiguous()) {
    buffer = payload.data();
    count = static_cast<size_t>(payload.bytes());
  } else {
    describe_as_packed(param, buffer, count, payload);
  }
}

void UcxTransport::describe_as_packed(ucp_request_param_t& param, const void*& buffer, size_t& count,
                                      Payload& payload) const {
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  param.datatype = gappy_;
  buffer = &payload;
  count = 1;
}

void UcxTransport::send(int peer, Outgoing& outgoing) {
  if (is_too_early_for(peer)) [[unlikely]]
    return late_.push_back({.peer = peer, .outgoing = &outgoing, .notice = {}});
  Result<ucp_ep_h> ep = endpoint(peer);
  if (!ep) return outgoing.sent(outgoing, std::move(ep).error());

  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &outgoing;
  param.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    ucp_request_free(request);
    auto& out = *static_cast<Outgoing*>(user_data);
    // Cancelled: the receiver withdrew the message at our own request.
    const bool fine = status == UCS_OK || status == UCS_ERR_CANCELED;
    out.sent(out, fine ? Error() : ucx_failure("send", status));
  };
  // Over tcp a connection breaks while both ends live, which the others of the job would not hear of.
  struct OverTcp {
    Outgoing& outgoing;
    UcxTransport& owner;
    int peer;
  };
  std::unique_ptr<OverTcp> over_tcp;
  Fragile* fragile = nullptr;
  if (may_end(peer)) {
    param.user_data = fragile = new Fragile{peer, this, &outgoing, nullptr};
    fragile_.insert(fragile);
    param.cb.send = [](void* request, ucs_status_t status, void* user_data) {
      ucp_request_free(request);
      finish(static_cast<Fragile*>(user_data), status == UCS_OK || status == UCS_ERR_CANCELED);
    };
  } else if (short_) {
    over_tcp = std::make_unique<OverTcp>(OverTcp{outgoing, *this, peer});
    param.user_data = over_tcp.get();
    param.cb.send = [](void* request, ucs_status_t status, void* user_data) {
      ucp_request_free(request);
      const std::unique_ptr<OverTcp> left(static_cast<OverTcp*>(user_data));
      const bool fine = status == UCS_OK || status == UCS_ERR_CANCELED;
      if (!fine) left->owner.lose_way(left->peer, status);
      left->outgoing.sent(left->outgoing, fine ? Error() : ucx_failure("send", status));
    };
  }
  const void* buffer = nullptr;
  size_t count = 0;
  // Over tcp its header and its bytes would go to the kernel apart, unless it is packed.
  if (short_ && outgoing.header.bytes <= UcxShort::kLongest)
    describe_as_packed(param, buffer, count, outgoing.payload);
  else if (outgoing.header.bytes > 0)
    describe(param, buffer, count, outgoing.payload);
  TUTTI_FAULT_POINT("ucx.before_send");
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(*ep, kMessageId, &outgoing.header, sizeof(Header), buffer, count, &param);
  TUTTI_FAULT_POINT("ucx.behind_send");
  if (UCS_PTR_IS_PTR(request)) return static_cast<void>(over_tcp.release());
  const ucs_status_t status = UCS_PTR_STATUS(request);
  if (fragile) return finish(fragile, status == UCS_OK);
  if (over_tcp && status != UCS_OK) lose_way(peer, status);
  outgoing.sent(outgoing, status == UCS_OK ? Error() : ucx_failure("send", status));
}

bool UcxTransport::send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) {
  if (!short_ || header.bytes > UcxShort::kLongest || is_too_early_for(peer)) return false;
  Result<ucp_ep_h> ep = endpoint(peer);
  return ep && short_->send_now(peer, *ep, header, ticket, data);  // send() tells what was wrong
}

void UcxTransport::notify(int peer, const Header& header) {
  if (is_too_early_for(peer)) [[unlikely]]
    return late_.push_back({.peer = peer, .outgoing = nullptr, .notice = header});
  Result<ucp_ep_h> ep = endpoint(peer);
  if (!ep && may_end(peer)) return;
  if (!ep) {
    say_unless_ended(ep.error().message());
    return;
  }
  struct Notice {
    Header header;
    UcxTransport* owner;
    int peer;
  };
  auto notice = std::make_unique<Notice>(Notice{header, this, peer});
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = notice.get();
  param.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    ucp_request_free(request);
    const std::unique_ptr<Notice> left(static_cast<Notice*>(user_data));
    if (status != UCS_OK && status != UCS_ERR_CANCELED) left->owner->lose_way(left->peer, status);
  };
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(*ep, kMessageId, &notice->header, sizeof(Header), nullptr, 0, &param);
  if (UCS_PTR_IS_PTR(request))
    static_cast<void>(notice.release());  // the request's until it has left
  else if (UCS_PTR_IS_ERR(request))
    lose_way(peer, UCS_PTR_STATUS(request));
}

ucs_status_t UcxTransport::on_message(void* self, const void* header, size_t header_length, void* data, size_t length,
                                      const ucp_am_recv_param_t* param) {
  TUTTI_INVARIANT(header_length == sizeof(Header), "a message with a foreign header arrived");
  Arrival arrival;
  std::memcpy(&arrival.header, header, sizeof(Header));
  TUTTI_INVARIANT(static_cast<int64_t>(length) == arrival.header.bytes || arrival.header.bytes == 0,
                  "a message arrived with another length than it was sent with");
  const bool rendezvous = param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV;
  if (auto& all = *static_cast<UcxTransport*>(self); rendezvous && all.may_end(arrival.header.process))
    all.announced_by_[data] = arrival.header.process;
  if (rendezvous) {
    arrival.rendezvous = data;
    TUTTI_FAULT_POINT("ucx.rendezvous_announced");
  } else {
    arrival.data = static_cast<const std::byte*>(data);
  }
  Receiver* const receiver = static_cast<UcxTransport*>(self)->receiver_;
  if (!receiver) [[unlikely]]
    return UCS_OK;
  receiver->arrived(arrival);
  return rendezvous ? UCS_INPROGRESS : UCS_OK;
}

void UcxTransport::fetch(void* rendezvous, Fetch& fetch) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.user_data = &fetch;
  param.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* user_data) {
    ucp_request_free(request);
    auto& f = *static_cast<Fetch*>(user_data);
    f.fetched(f, status == UCS_OK ? Error() : ucx_failure("receive", status));
  };
  Fragile* fragile = nullptr;
  if (const auto from = announced_by_.find(rendezvous); from != announced_by_.end()) [[unlikely]] {
    const int peer = from->second;
    announced_by_.erase(from);
    if (members_->has_failed(peer)) return fetch.fetched(fetch, end_of_peer(peer));
    param.user_data = fragile = new Fragile{peer, this, nullptr, &fetch};
    fragile_.insert(fragile);
    param.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* user_data) {
      ucp_request_free(request);
      TUTTI_FAULT_POINT("ucx.fetched");
      finish(static_cast<Fragile*>(user_data), status == UCS_OK);
    };
  }
  const void* buffer = nullptr;
  size_t count = 0;
  describe(param, buffer, count, fetch.into);
  const ucs_status_ptr_t request = ucp_am_recv_data_nbx(worker_, rendezvous, const_cast<void*>(buffer), count, &param);
  TUTTI_FAULT_POINT("ucx.fetching");
  if (UCS_PTR_IS_PTR(request)) return;
  const ucs_status_t status = UCS_PTR_STATUS(request);
  if (fragile) return finish(fragile, status == UCS_OK);
  fetch.fetched(fetch, status == UCS_OK ? Error() : ucx_failure("receive", status));
}

void UcxTransport::report(Fragile& fragile, Error error) {
  if (Outgoing* const out = std::exchange(fragile.outgoing, nullptr))
    out->sent(*out, std::move(error));
  else if (Fetch* const fetch = std::exchange(fragile.fetch, nullptr))
    fetch->fetched(*fetch, std::move(error));
}

void UcxTransport::finish(Fragile* fragile, bool fine) {
  fragile->owner->fragile_.erase(fragile);
  report(*fragile, fine ? Error() : fragile->owner->end_of_peer(fragile->peer));
  delete fragile;
}

void UcxTransport::lose(int peer) {
  has_lost_ = true;
  unasked_.erase(peer);
  // Its endpoint goes with the worker: to close it would wait for the peer.
  if (endpoints_.find(peer)) endpoints_.set(peer, nullptr);
  // What is told may begin or end others.
  const std::vector<Fragile*> all(fragile_.begin(), fragile_.end());
  for (Fragile* each : all)
    if (fragile_.contains(each) && each->peer == peer) report(*each, end_of_peer(peer));
}

bool UcxTransport::flushed() {
  if (has_lost_) {
    if (flushes_.empty()) {
      const ucp_request_param_t each{};
      endpoints_.each([&](int, ucp_ep_h ep) {
        if (void* request = ep ? ucp_ep_flush_nbx(ep, &each) : nullptr; UCS_PTR_IS_PTR(request))
          flushes_.push_back(request);
      });
    }
    std::erase_if(flushes_, [](void* request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
    return flushes_.empty();
  }
  if (!flush_) {
    const ucp_request_param_t param{};
    flush_ = ucp_worker_flush_nbx(worker_, &param);
    if (!UCS_PTR_IS_PTR(flush_)) {
      flush_ = nullptr;
      return true;
    }
  }
  if (ucp_request_check_status(flush_) == UCS_INPROGRESS) return false;
  ucp_request_free(flush_);
  flush_ = nullptr;
  return true;
}

}  // namespace

Result<std::unique_ptr<Ucx>> Ucx::open(const UcxOptions& options) {
  auto transport = std::make_unique<UcxTransport>();
  if (Error e = transport->start(options)) return e;
  return std::unique_ptr<Ucx>(std::move(transport));
}

}  // namespace tutti::transport
