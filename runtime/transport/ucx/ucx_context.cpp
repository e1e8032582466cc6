// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_context.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/os/machine.hpp"

namespace tutti::transport {
namespace {

// What a connection says whose other end is gone: the launcher knows better what became of it.
bool is_loss(ucs_status_t status) {
  return status == UCS_ERR_ENDPOINT_TIMEOUT || status == UCS_ERR_CONNECTION_RESET || status == UCS_ERR_NOT_CONNECTED ||
         status == UCS_ERR_UNREACHABLE || status == UCS_ERR_TIMED_OUT;
}

bool has_rdma() {
  std::error_code none;
  return std::filesystem::directory_iterator("/sys/class/infiniband", none) != std::filesystem::directory_iterator();
}

// What a user says of a variable holds.
void tell(ucp_config_t* config, const char* setting, const char* variable, const char* value) {
  if (!std::getenv(variable)) ucp_config_modify(config, setting, value);
}

// UCX warns of each device that it is told of and cannot use.
bool is_usable(const std::filesystem::path& port) {
  std::ifstream file(port / "state");  // "4: ACTIVE"
  std::string state;
  std::getline(file, state);
  return state.ends_with("ACTIVE");
}
bool has_verbs() {
  std::error_code none;
  return std::ranges::any_of(std::filesystem::directory_iterator("/dev/infiniband", none), [](const auto& device) {
    return device.path().filename().string().starts_with("uverbs");
  });
}

// UCX listens at the address of each tcp device that it uses, and whoever connects there and knows its protocol can end
// the process. Devices of other kinds are not reached that way.
void listen_on_loopback(ucp_config_t* config) {
  std::string devices = loopback_device();
  if (devices.empty()) return;
  std::error_code none;
  if (has_verbs())
    for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband", none))
      for (const auto& port : std::filesystem::directory_iterator(device.path() / "ports", none))
        if (is_usable(port.path()))
          devices += "," + device.path().filename().string() + ":" + port.path().filename().string();
  tell(config, "NET_DEVICES", "UCX_NET_DEVICES", devices.c_str());
}

// What UCX leaves alone where nobody says what it may use; empty: nothing. A process of another container on this machine
// is reached by UCX, which would take the kernel's copy (cma) for it, and fail where the kernel refuses.
std::string left_alone(const UcxOptions& options) {
  std::string out;
  if (!options.dev_shm) out = options.segments ? "posix" : "posix,sysv";
  if (is_in_user_namespace()) out += out.empty() ? "cma" : ",cma";
  return out.empty() ? out : "^" + out;
}

// Where no network writes into memory by itself.
void adapt_to_tcp(ucp_config_t* config, bool between_nodes) {
  // The three messages of a rendezvous cost more than a copy of this much. (64 KiB one way between
  // two nodes: 25 µs against 42.)
  tell(config, "RNDV_THRESH", "UCX_RNDV_THRESH", "256k");
  if (!between_nodes) return;
  // A message that comes in several pieces is put together in memory of UCX's own before it is
  // handed out: one piece holds whatever is sent at once. (64 KiB: 23 µs against 31.)
  tell(config, "RX_SEG_SIZE", "UCX_TCP_RX_SEG_SIZE", "256k");
  // What the socket writes where it is to be takes longer than what comes through a buffer that stays
  // in the cache (1 MiB: 430 µs against 250), and comes that way where UCX is told to read, which over
  // tcp it cannot. Later versions choose by other rules, by which that is slower.
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  if (major == 1 && minor <= 13) tell(config, "RNDV_SCHEME", "UCX_RNDV_SCHEME", "get_zcopy");
}

}  // namespace

NetworkPlace Ucx::loopback_place() {
  return std::getenv("UCX_NET_DEVICES") ? NetworkPlace() : network_place();
}

Error ucx_failure(const char* what, ucs_status_t status) {
  return failure(is_loss(status) ? MPI_ERR_PROC_ABORTED : MPI_ERR_OTHER, "UCX cannot {}: {}", what,
                 ucs_status_string(status));
}

Result<UcxContext> open_context(const UcxOptions& options) {
  ucp_config_t* config = nullptr;
  if (ucs_status_t s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK)
    return ucx_failure("read its configuration", s);
  if (!options.tls.empty()) {
    if (ucs_status_t s = ucp_config_modify(config, "TLS", options.tls.c_str()); s != UCS_OK) {
      ucp_config_release(config);
      return ucx_failure("take the transports of the setting transport.ucx_tls", s);
    }
  } else if (const std::string names = left_alone(options); !names.empty()) {
    tell(config, "TLS", "UCX_TLS", names.c_str());
  }
  if (options.loopback) listen_on_loopback(config);
  const bool over_tcp = !has_rdma();
  if (over_tcp) adapt_to_tcp(config, options.between_nodes);
  // Of several sockets that the kernel names at once, what comes by one may close another, whose turn then ends the process
  // (Assertion `ep->conn_state != UCT_TCP_EP_CONN_STATE_CLOSED' failed): one at a time.
  tell(config, "MAX_POLL", "UCX_TCP_MAX_POLL", "1");
  // Otherwise the process stands still in its first send to one whose machine is gone, for as long as the kernel tries to
  // connect: two minutes. And where the other process ends between the kernel's connection and UCX's first message by it,
  // UCX (1.13) ends this one, too (tcp_ep.c, Assertion `!(ep->flags & UCT_TCP_EP_FLAG_CTX_TYPE_TX)' failed).
  tell(config, "CONN_NB", "UCX_TCP_CONN_NB", "y");
  UcxContext made;
  made.has_tags = over_tcp && options.between_nodes;
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (made.has_tags) params.features |= UCP_FEATURE_TAG;
  params.name = "tutti";
  const ucs_status_t status = ucp_init(&params, config, &made.context);
  ucp_config_release(config);
  if (status != UCS_OK) return ucx_failure("start", status);
  return made;
}

}  // namespace tutti::transport
