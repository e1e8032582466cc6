// SPDX-License-Identifier: BSD-3-Clause
// Control variables (the standard, section 15.3.6): the settings of tutti.yaml, under their names.
// What a tool writes before MPI_Init holds from then on, above all other layers; a few can be
// changed in a running job.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/log.hpp"
#include "coll/selection.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/process.hpp"
#include "mpi/tool/api_tool.hpp"
#include "mpi/tool/event.hpp"
#include "mpi/tool/tool.hpp"

namespace tutti::mpi::tool {
namespace {

constexpr int kTextRoom = 1024;  // characters of a text, its end included

struct ControlHandle {
  const Setting* setting;
};
// What tools have made and set. It lives as long as the process, because what they write before MPI_Init holds in it.
struct Controls {
  Handles<ControlHandle> handles TUTTI_GUARDED_BY(mutex());
  std::vector<GivenSetting> written TUTTI_GUARDED_BY(mutex());
};
Controls& controls() {
  static auto& only = *new Controls;
  return only;
}

MPI_Datatype type_of(const Setting& s) {
  switch (s.kind) {
    case SettingKind::flag:
    case SettingKind::choice:
      return MPI_INT;
    case SettingKind::text:
      return MPI_CHAR;
    default:
      return MPI_COUNT;
  }
}

bool is_of_launcher(const Setting& s) {
  return s.name.starts_with("launch.") || s.name == "failure.heartbeat";
}
bool changes_while_running(const Setting& s) {
  return s.name == "log.level" || s.name.starts_with("collectives.");
}
int scope_of(const Setting& s) {
  if (is_of_launcher(s)) return MPI_T_SCOPE_CONSTANT;
  if (s.name.starts_with("log.") || s.name.starts_with("progress.") || s.name.starts_with("wait."))
    return MPI_T_SCOPE_LOCAL;
  return MPI_T_SCOPE_ALL_EQ;
}

std::string text_of(const Setting& s, const void* value) TUTTI_REQUIRES(mutex()) {
  if (s.kind == SettingKind::text) {
    const auto* text = static_cast<const char*>(value);
    return std::string(text, strnlen(text, kTextRoom - 1));
  }
  if (const Enumeration* names = enumeration(s)) {
    const int number = *static_cast<const int*>(value);
    return within(number, names->items.size()) ? names->items[static_cast<size_t>(number)] : std::to_string(number);
  }
  return std::to_string(*static_cast<const MPI_Count*>(value)) + (s.kind == SettingKind::duration ? "ns" : "");
}

// In a job that runs. Other ranks do the same.
Error change(const Setting& s, const Config& config) {
  if (s.name == "log.level") {
    set_log_level(static_cast<Level>(config.value("log.level").number));
    return {};
  }
  auto selection = coll::Selection::load(std::string(config.text("collectives.override")),
                                         std::string(config.text("collectives.rules")));
  if (!selection) return failure(MPI_T_ERR_INVALID, "{}", selection.error().message());
  if (in_event()) return failure(MPI_T_ERR_CVAR_SET_NOT_NOW, "{} is not changed in a callback of an event", s.name);
  process().select(*std::move(selection));
  return {};
}

Result<Config> config_with(const std::vector<GivenSetting>& given) {
  Result<Config> config = Config::load(given);
  if (!config) return failure(MPI_T_ERR_INVALID, "{}", config.error().message());
  return config;
}

}  // namespace

std::vector<GivenSetting> written_settings() {
  const Lock lock(mutex());
  return controls().written;
}

Error t_cvar_get_num(int* num_cvar) {
  TUTTI_TOOL_READY;
  if (!num_cvar) return null_address("num_cvar");
  *num_cvar = static_cast<int>(settings().size());
  return {};
}

Error t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                      MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
  TUTTI_TOOL_READY;
  if (!within(cvar_index, settings().size())) return bad_index(cvar_index, settings().size(), "control variable");
  const Setting& s = settings()[static_cast<size_t>(cvar_index)];
  give_text(s.name, name, name_len);
  give(verbosity, is_of_launcher(s) ? int{MPI_T_VERBOSITY_USER_ALL} : int{MPI_T_VERBOSITY_USER_BASIC});
  give(datatype, type_of(s));
  give(enumtype, tool::handle_of(enumeration(s)));
  give_text(fmt::format("{}{}", s.doc,
                        s.kind == SettingKind::duration ? ", in nanoseconds"
                        : s.kind == SettingKind::size   ? ", in bytes"
                                                        : ""),
            desc, desc_len);
  give(bind, int{MPI_T_BIND_NO_OBJECT});
  give(scope, scope_of(s));
  return {};
}

Error t_cvar_get_index(const char* name, int* cvar_index) {
  TUTTI_TOOL_READY;
  if (!name || !cvar_index) return null_address(name ? "cvar_index" : "name");
  for (size_t i = 0; i < settings().size(); ++i)
    if (settings()[i].name == name) {
      *cvar_index = static_cast<int>(i);
      return {};
    }
  return bad_name(name, "control variable");
}

Error t_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) {
  TUTTI_TOOL_READY;
  if (!within(cvar_index, settings().size())) return bad_index(cvar_index, settings().size(), "control variable");
  if (!handle) return null_address("handle");
  const Setting& s = settings()[static_cast<size_t>(cvar_index)];
  *handle = reinterpret_cast<MPI_T_cvar_handle>(controls().handles.add(new ControlHandle{&s}));
  give(count, s.kind == SettingKind::text ? kTextRoom : 1);
  return {};
}

Error t_cvar_handle_free(MPI_T_cvar_handle* handle) {
  TUTTI_TOOL_READY;
  if (!handle) return null_address("handle");
  ControlHandle* const found = controls().handles.find(*handle);
  if (!found) return bad_handle("control variable");
  controls().handles.remove(found);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return {};
}

Error t_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  TUTTI_TOOL_READY;
  const ControlHandle* const found = controls().handles.find(handle);
  if (!found) return bad_handle("control variable");
  if (!buf) return null_address("buf");
  const Result<Config> config = config_with(controls().written);
  if (!config) return Error(config.error().mpi_class(), config.error().message());
  const Setting& s = *found->setting;
  const Config::Value& value = (*config).value(s.name);
  if (s.kind == SettingKind::text) {
    const size_t length = std::min<size_t>(value.text.size(), kTextRoom - 1);
    std::memcpy(buf, value.text.data(), length);
    static_cast<char*>(buf)[length] = 0;
  } else if (type_of(s) == MPI_INT) {
    *static_cast<int*>(buf) = static_cast<int>(value.number);
  } else {
    *static_cast<MPI_Count*>(buf) = value.number;
  }
  return {};
}

Error t_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  TUTTI_TOOL_READY;
  const ControlHandle* const found = controls().handles.find(handle);
  if (!found) return bad_handle("control variable");
  if (!buf) return null_address("buf");
  const Setting& s = *found->setting;
  const bool before = current.phase.load() == Phase::before_init;
  if (is_of_launcher(s))
    return failure(MPI_T_ERR_CVAR_SET_NEVER, "{} is the launcher's: it is set in tutti.yaml or by --set", s.name);
  if (!before && !(changes_while_running(s) && current.phase.load() == Phase::running))
    return failure(MPI_T_ERR_CVAR_SET_NEVER, "{} takes effect in MPI_Init, which is over: write it before", s.name);
  std::vector<GivenSetting> given = controls().written;
  std::erase_if(given, [&](const GivenSetting& g) { return g.name == s.name; });
  given.push_back({std::string(s.name), text_of(s, buf), "MPI_T_cvar_write"});
  const Result<Config> config = config_with(given);
  if (!config) return Error(config.error().mpi_class(), config.error().message());
  if (!before)
    if (Error e = change(s, *config)) return e;
  controls().written = std::move(given);
  return {};
}

}  // namespace tutti::mpi::tool
