// SPDX-License-Identifier: BSD-3-Clause
// The settings of Tutti: one table (config.cpp), five layers in rising order: the built-in default,
// the installation's etc/tutti/tutti.yaml, the user's tutti.yaml, TUTTI_* variables, the command
// line. Each value remembers where it came from. A name or value that the table does not know is
// an error with its place; nothing is ignored silently.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti {

enum class SettingKind {
  flag,      // on, off (also true/false, yes/no, 1/0)
  number,    // a whole number; `allowed` is "low..high"
  text,      // anything; `allowed` may be kNotEmpty
  choice,    // one of `allowed`, separated by '|'
  size,      // bytes, with an optional k, m or g (powers of 1024)
  duration,  // a number with ns, us, ms, s or min; `allowed` may be "low..high"
};

inline constexpr std::string_view kNotEmpty = "not empty";

struct Setting {
  std::string_view name;  // "progress.tick_min"; the variable is TUTTI_PROGRESS_TICK_MIN
  SettingKind kind;
  std::string_view fallback;
  std::string_view allowed;
  std::string_view doc;  // one line
};

std::span<const Setting> settings();
std::string_view kind_name(SettingKind kind);
std::string variable_of(std::string_view setting);  // "TUTTI_…"

// Set in the environment of a rank whose launcher has resolved the settings already and passes
// those that differ from the default as TUTTI_* variables: no file is read then.
inline constexpr const char* kSettingsResolved = "TUTTI_SETTINGS_RESOLVED";

// The folder that holds bin/, lib/ and etc/ of the installation (or build) that this code runs
// from, found from the place of the object that contains it.
std::filesystem::path installation_root();
// The installation's etc/tutti; empty where there is none.
std::filesystem::path installed_settings_folder();

// A value given on the command line: `origin` is the option as the user wrote it.
struct GivenSetting {
  std::string name, value, origin;
};

// Where the layers are read from; a test brings its own.
struct SettingSources {
  std::filesystem::path system_file, user_file;  // empty or absent on disk: skipped
  std::map<std::string, std::string> environment;
  static SettingSources of_this_process();
};

class Config {
 public:
  static Result<Config> load(const std::vector<GivenSetting>& command_line = {});
  static Result<Config> load(const std::vector<GivenSetting>& command_line, const SettingSources& sources);

  // Asking for a name that is not in the table, or for another kind, is a broken invariant.
  bool flag(std::string_view name) const;
  int64_t number(std::string_view name) const;  // numbers, and sizes in bytes
  std::chrono::nanoseconds duration(std::string_view name) const;
  std::string_view text(std::string_view name) const;  // any kind, as written

  struct Value {
    const Setting* setting;
    std::string text;    // as written
    int64_t number = 0;  // flag 0/1, number, bytes or nanoseconds
    std::string origin;  // "default", "FILE:LINE", "TUTTI_X", "--set x=…"
  };
  const std::vector<Value>& values() const { return values_; }  // in the table's order
  const Value& value(std::string_view name) const;
  // TUTTI_X=value of all that differ from the built-in default, and kSettingsResolved.
  std::vector<std::string> as_environment() const;

 private:
  Config();
  Error read_file(const std::filesystem::path& file);
  Error read_environment(const std::map<std::string, std::string>& environment);
  Error set(std::string_view name, const std::string& text, const std::string& origin);
  std::vector<Value> values_;
};

}  // namespace tutti
