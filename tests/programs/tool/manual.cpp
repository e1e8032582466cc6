// SPDX-License-Identifier: BSD-3-Clause
// The manual page of variables and events names each of them with what it says of itself, and no others. Run with
// the page's file; with --print instead it prints the lists as the page has them.
#include <fstream>
#include <iterator>
#include <utility>

#include "check.hpp"

namespace {

std::string roff(std::string text) {
  std::string out;
  for (const char c : text) out += c == '-' ? "\\-" : std::string(1, c);
  return out;
}

const char* scope_name(int scope) {
  return scope == MPI_T_SCOPE_CONSTANT ? "the launcher's" : scope == MPI_T_SCOPE_LOCAL ? "local" : "alike on all ranks";
}
const char* type_name(MPI_Datatype type) {
  return type == MPI_INT      ? "MPI_INT"
         : type == MPI_CHAR   ? "MPI_CHAR"
         : type == MPI_DOUBLE ? "MPI_DOUBLE"
         : type == MPI_COUNT  ? "MPI_COUNT"
                              : "MPI_UNSIGNED_LONG";
}
const char* class_name(int variable_class) {
  switch (variable_class) {
      // clang-format off
    case MPI_T_PVAR_CLASS_STATE: return "state";
    case MPI_T_PVAR_CLASS_LEVEL: return "level";
    case MPI_T_PVAR_CLASS_SIZE: return "size";
    case MPI_T_PVAR_CLASS_COUNTER: return "counter";
    case MPI_T_PVAR_CLASS_TIMER: return "timer";
      // clang-format on
  }
  return "?";
}

std::string entry(const std::string& name, const std::string& details, const std::string& doc) {
  return ".TP\n.B " + roff(name) + "\n" + roff(doc) + " (" + details + ").\n";
}

std::string control_variables() {
  std::string text;
  int count = 0;
  OK(MPI_T_cvar_get_num(&count));
  for (int i = 0; i < count; ++i) {
    char name[200], desc[600];
    int name_len = sizeof name, desc_len = sizeof desc, scope;
    MPI_Datatype type;
    OK(MPI_T_cvar_get_info(i, name, &name_len, nullptr, &type, nullptr, desc, &desc_len, nullptr, &scope));
    text += entry(name, std::string(type_name(type)) + ", " + scope_name(scope), desc);
  }
  return text;
}

std::string performance_variables() {
  std::string text;
  int count = 0;
  OK(MPI_T_pvar_get_num(&count));
  for (int i = 0; i < count; ++i) {
    char name[200], desc[600];
    int name_len = sizeof name, desc_len = sizeof desc, variable_class, bind, readonly, continuous;
    MPI_Datatype type;
    OK(MPI_T_pvar_get_info(i, name, &name_len, nullptr, &variable_class, &type, nullptr, desc, &desc_len, &bind,
                           &readonly, &continuous, nullptr));
    text += entry(name,
                  std::string(class_name(variable_class)) + ", " + type_name(type) +
                      (bind == MPI_T_BIND_MPI_COMM ? ", of a communicator" : "") + (continuous ? ", continuous" : "") +
                      (readonly ? ", read only" : ""),
                  desc);
  }
  return text;
}

std::string events() {
  std::string text;
  int count = 0;
  OK(MPI_T_event_get_num(&count));
  for (int i = 0; i < count; ++i) {
    char name[200], desc[600];
    int name_len = sizeof name, desc_len = sizeof desc, bind;
    OK(MPI_T_event_get_info(i, name, &name_len, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, desc, &desc_len,
                            &bind));
    text += entry(
        name, std::string("source, tag, bytes, context") + (bind == MPI_T_BIND_MPI_COMM ? "; of a communicator" : ""),
        desc);
  }
  return text;
}

// The page's part below a heading.
std::string section(const std::string& page, const std::string& heading) {
  const size_t at = page.find(".SH " + heading + "\n");
  if (at == page.npos) return "";
  const size_t first = page.find(".TP\n", at), end = page.find("\n.SH ", at);
  return first < end ? page.substr(first, end + 1 - first) : "";
}

}  // namespace

int main(int, char** argv) {
  int provided;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  const std::pair<std::string, std::string> parts[] = {{"CONTROL VARIABLES", control_variables()},
                                                       {"PERFORMANCE VARIABLES", performance_variables()},
                                                       {"EVENTS", events()}};
  OK(MPI_T_finalize());
  if (argv[1] && std::string(argv[1]) == "--print") {
    for (const auto& [heading, text] : parts) std::printf(".SH %s\n%s", heading.c_str(), text.c_str());
    return 0;
  }
  std::ifstream file(argv[1] ? argv[1] : "");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const auto& [heading, text] : parts)
    if (section(page, heading) != text) {
      std::fprintf(stderr, "%s: the section %s is not what the library says; it should be\n%s",
                   argv[1] ? argv[1] : "no page", heading.c_str(), text.c_str());
      return 1;
    }
  std::puts("ok");
}
