// SPDX-License-Identifier: BSD-3-Clause
// A job's side of what it says to its kin and hears from them: words to the launcher of the first job of the family
// (family.hpp), which may be the own one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "launcher/data/kin.hpp"
#include "launcher/data/wire.hpp"

namespace tutti::launcher {

enum class KinWord : uint8_t {
  // From a job to the first one's launcher.
  introduce = 1,  // its task
  launched,       // nothing
  failed,         // its exit code
  ask,            // a number, an Ask
  meet,           // the key of a fence, and data
  answer,         // a number, a status, what was wanted
  // The other way.
  learn,    // the task of another job
  welcome,  // nothing: it has heard of all that there are
  reply,    // a number, a Reply
  met,      // the key of a fence, a status, and the data of all
  want,     // a number, and the rank whose published data is wanted
  end,      // an exit code
};

class Kin final : public Beyond {
 public:
  using Say = std::function<void(const std::string& word)>;
  struct Events {
    std::function<void(uint64_t number, const Reply&)> replied;
    std::function<void(const std::string& key, int status, const std::string& data)> met;
    std::function<void(uint64_t number, int rank)> wanted;
    std::function<void(const NodeTask& kin)> learned;
    std::function<void()> welcomed;
    std::function<void()> launched;            // every rank runs
    std::function<void(int exit_code)> ended;  // a job whose end is this one's
  };
  Kin(Say say, Events events) : say_(std::move(say)), events_(std::move(events)) {}

  void introduce(const NodeTask& task) { say_(wire::pack(KinWord::introduce, brief(task))); }
  void ask(uint64_t number, const Ask& ask) override { say_(wire::pack(KinWord::ask, number, ask)); }
  void meet(const std::string& key, const std::string& data) override { say_(wire::pack(KinWord::meet, key, data)); }
  void answer(uint64_t number, int status, const std::string& data) override {
    say_(wire::pack(KinWord::answer, number, status, data));
  }
  void launched() override {
    events_.launched();
    say_(wire::pack(KinWord::launched));
  }
  void failed(int exit_code) override { say_(wire::pack(KinWord::failed, exit_code)); }

  // False: that is no word.
  bool hear(std::string_view word);

  // Without kin there is nothing to say but this.
  static bool is_question(std::string_view word);
  // As others want to know it.
  static NodeTask brief(NodeTask task);

 private:
  Say say_;
  Events events_;
};

}  // namespace tutti::launcher
