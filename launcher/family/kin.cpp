// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/family/kin.hpp"

namespace tutti::launcher {

NodeTask Kin::brief(NodeTask task) {
  task.node = 0;
  task.environment.clear();
  task.files.clear();
  for (App& app : task.map.apps) app.variables.clear();
  return task;
}

bool Kin::is_question(std::string_view word) {
  KinWord what{};
  wire::Unpacker unpack(word);
  unpack(what);
  return what == KinWord::ask || what == KinWord::meet;
}

bool Kin::hear(std::string_view word) {
  KinWord what{};
  uint64_t number = 0;
  int code = 0;
  std::string key, data;
  wire::Unpacker unpack(word);
  unpack(what);
  switch (what) {
    case KinWord::learn: {
      NodeTask task;
      return unpack.ends_with(task) && is_consistent(task) && (events_.learned(task), true);
    }
    case KinWord::welcome:
      return unpack.ends_with() && (events_.welcomed(), true);
    case KinWord::reply: {
      Reply reply;
      return unpack.ends_with(number, reply) && (events_.replied(number, reply), true);
    }
    case KinWord::met:
      return unpack.ends_with(key, code, data) && (events_.met(key, code, data), true);
    case KinWord::want:
      return unpack.ends_with(number, code) && (events_.wanted(number, code), true);
    case KinWord::end:
      return unpack.ends_with(code) && (events_.ended(code), true);
    default:
      return false;
  }
}

}  // namespace tutti::launcher
