// SPDX-License-Identifier: BSD-3-Clause
#include "contract/relay.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "contract/checker.hpp"
#include "engine/engine.hpp"

namespace tutti::contract {
namespace {

using transport::Header;

// In front of what is handed on.
struct Envelope {
  int32_t from = 0, to = 0;
  Header header;
};

}  // namespace

void Checker::send(int to, const Header& header, std::string bytes) {
  if (next_for(to) == to) return engine_.send_control(to, header, std::move(bytes));
  const Envelope envelope{engine_.process(), to, header};
  std::string whole(reinterpret_cast<const char*>(&envelope), sizeof envelope);
  engine_.send_control(next_for(to), control(Control::relay, 0), whole += bytes);
}

int Checker::next_for(int to) const {
  const int ranks = hooks_.others.job_size;
  const bool is_near = to == engine_.process() || to >= ranks || ranks == std::numeric_limits<int>::max() ||
                       engine_.transport().way_to(to, false) == transport::Transport::Way::open;
  return is_near ? to : next_hop(engine_.process(), to, ranks);
}

void Checker::relay(const std::byte* data, size_t bytes) {
  Envelope envelope;
  if (bytes < sizeof envelope) return;
  std::memcpy(&envelope, data, sizeof envelope);
  const size_t length = bytes - sizeof envelope;
  if (envelope.to != engine_.process())
    return engine_.send_control(next_for(envelope.to), control(Control::relay, 0),
                                std::string(reinterpret_cast<const char*>(data), bytes));
  envelope.header.process = envelope.from;
  envelope.header.bytes = static_cast<int64_t>(length);
  told(envelope.header, data + sizeof envelope);
}

}  // namespace tutti::contract
