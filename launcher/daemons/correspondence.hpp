// SPDX-License-Identifier: BSD-3-Clause
// One side of what mpirun and a daemon say to each other where the job survives the daemons in between: words are
// numbered and kept until the other side has them, so that they can be said again over another way. Each comes there
// once, and in order, over whichever ways it has come.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/data/wire.hpp"

namespace tutti::launcher {

class Correspondence {
 public:
  struct Word {
    Message type = Message::ping;
    std::string payload;
  };
  // What comes of a letter: a word whose turn it is; nothing, of one that has been here, comes too early or is a receipt
  // alone; or it makes no sense.
  struct Arrival {
    bool is_sound = false;
    std::optional<Word> word;
  };

  std::string put(Message type, std::string_view payload);  // the letter to be sent
  Arrival take(std::string_view letter);
  // So much has come since this side has last written that it should say that it has it.
  bool owes_receipt() const { return taken_ - told_ >= kUnreceipted; }
  std::string receipt();
  // All that the other side is not known to have, in order.
  std::vector<std::string> letters() const { return {unread_.begin(), unread_.end()}; }

 private:
  static constexpr uint64_t kUnreceipted = 16;

  std::deque<std::string> unread_;  // the last of them has the number put_
  uint64_t put_ = 0, taken_ = 0, told_ = 0;
};

}  // namespace tutti::launcher
