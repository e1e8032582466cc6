// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/info.hpp"

#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "mpi/object/api_info.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi {

void Info::set(std::string_view key, std::string_view value) {
  const Lock lock(mutex_);
  for (Entry& entry : entries_)
    if (entry.first == key) {
      entry.second = value;
      return;
    }
  entries_.emplace_back(key, value);
}

std::optional<std::string> Info::get(std::string_view key) const {
  const Lock lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.first == key) return entry.second;
  return {};
}

bool Info::remove(std::string_view key) {
  const Lock lock(mutex_);
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.first == key; }) > 0;
}

std::vector<Info::Entry> Info::entries() const {
  const Lock lock(mutex_);
  return entries_;
}

size_t alignment_of(const Info* info) {
  constexpr size_t kLine = 64, kMost = size_t{1} << 30;
  const std::optional<std::string> asked = info ? info->get("mpi_minimum_memory_alignment") : std::nullopt;
  const size_t bytes = asked ? std::strtoull(asked->c_str(), nullptr, 10) : 0;
  return bytes <= kLine || bytes > kMost ? kLine : std::bit_ceil(bytes);
}

namespace {

// The program and its arguments as the system knows them: at the time of MPI_INFO_ENV's first use
// there may have been no MPI_Init that was given any.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (size_t at = 0; at < all.size(); at += words.back().size() + 1) words.emplace_back(all.c_str() + at);
  return words;
}

std::vector<Info::Entry> environment(const std::vector<std::string>& words) {
  std::vector<Info::Entry> entries;
  auto add = [&](const char* key, std::string value) {
    if (value.size() >= MPI_MAX_INFO_VAL) value.resize(MPI_MAX_INFO_VAL - 1);
    if (!value.empty()) entries.emplace_back(key, std::move(value));
  };
  std::string arguments;
  for (size_t i = 1; i < words.size(); i++) arguments += (i > 1 ? " " : "") + words[i];
  if (!words.empty()) add("command", words[0]);
  add("argv", arguments);
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder)) add("wdir", folder);
  utsname system{};
  if (uname(&system) == 0) {
    add("host", system.nodename);
    add("arch", system.machine);
  }
  return entries;
}

Error check_key(const char* key) {
  const size_t length = strnlen(key, MPI_MAX_INFO_KEY);
  if (length == 0) return failure(MPI_ERR_INFO_KEY, "the key is empty");
  if (length >= MPI_MAX_INFO_KEY)
    return failure(MPI_ERR_INFO_KEY, "the key is longer than {} characters: {}…", MPI_MAX_INFO_KEY - 1,
                   std::string_view(key, 40));
  return {};
}

Error check_changeable(const Info& info) {
  if (!info.predefined) return {};
  return failure(MPI_ERR_INFO, "MPI_INFO_ENV is predefined and cannot be changed");
}

Error check_get(const char* key, int* flag) {
  *flag = 0;
  return check_key(key);
}

}  // namespace

Info& info_env() {
  static Info* env = [] {
    auto* info = new Info(environment(command_line()));  // never destroyed
    info->predefined = true;
    info->handle = MPI_INFO_ENV;
    return info;
  }();
  return *env;
}

Info* HandleOf<Info>::predefined(uintptr_t value) {
  return value == reinterpret_cast<uintptr_t>(MPI_INFO_ENV) ? &info_env() : nullptr;
}

Error info_create(MPI_Info* info) {
  *info = inventory::hand_out(*new Info);
  return {};
}

Error info_create_env(int argc, char** argv, MPI_Info* info) {
  std::vector<std::string> words;
  for (int i = 0; argv != nullptr && i < argc && argv[i] != nullptr; i++) words.emplace_back(argv[i]);
  auto& made = *new Info(environment(words.empty() ? command_line() : words));
  // And what MPI_Init has added to MPI_INFO_ENV (11.2.1); a program without arguments has no argv.
  for (const auto& [key, value] : info_env().entries())
    if (key != "command" && key != "argv" && !made.get(key)) made.set(key, value);
  *info = inventory::hand_out(made);
  return {};
}

Error info_dup(const Info* info, MPI_Info* newinfo) {
  *newinfo = inventory::hand_out(*new Info(info->entries()));
  return {};
}

Error info_free(MPI_Info* info) {
  Info& freed = *resolve<Info>(*info);
  if (freed.predefined) return failure(MPI_ERR_INFO, "MPI_INFO_ENV is predefined and cannot be freed");
  freed.free_handle();
  *info = MPI_INFO_NULL;
  return {};
}

Error info_set(Info* info, const char* key, const char* value) {
  if (Error error = check_changeable(*info)) return error;
  if (Error error = check_key(key)) return error;
  if (strnlen(value, MPI_MAX_INFO_VAL) >= MPI_MAX_INFO_VAL)
    return failure(MPI_ERR_INFO_VALUE, "the value of {} is longer than {} characters", key, MPI_MAX_INFO_VAL - 1);
  info->set(key, value);
  return {};
}

Error info_delete(Info* info, const char* key) {
  if (Error error = check_changeable(*info)) return error;
  if (Error error = check_key(key)) return error;
  if (!info->remove(key)) return failure(MPI_ERR_INFO_NOKEY, "there is no key {}", key);
  return {};
}

Error info_get(const Info* info, const char* key, int valuelen, char* value, int* flag) {
  if (Error error = check_get(key, flag)) return error;
  if (valuelen < 0) return failure(MPI_ERR_ARG, "valuelen is {}", valuelen);
  const auto found = info->get(key);
  if (!found) return {};
  *flag = 1;
  const size_t length = std::min(found->size(), static_cast<size_t>(valuelen));
  std::memcpy(value, found->data(), length);
  value[length] = 0;  // valuelen does not count this one
  return {};
}

Error info_get_string(const Info* info, const char* key, int* buflen, char* value, int* flag) {
  if (Error error = check_get(key, flag)) return error;
  if (*buflen < 0) return failure(MPI_ERR_ARG, "buflen is {}", *buflen);
  if (*buflen > 0 && value == nullptr) return failure(MPI_ERR_ARG, "value is NULL, yet buflen is {}", *buflen);
  const auto found = info->get(key);
  if (!found) return {};
  *flag = 1;
  if (*buflen > 0) {
    const size_t length = std::min(found->size(), static_cast<size_t>(*buflen) - 1);
    std::memcpy(value, found->data(), length);
    value[length] = 0;
  }
  *buflen = static_cast<int>(found->size()) + 1;  // counts the zero at the end
  return {};
}

Error info_get_valuelen(const Info* info, const char* key, int* valuelen, int* flag) {
  if (Error error = check_get(key, flag)) return error;
  const auto found = info->get(key);
  if (!found) return {};
  *flag = 1;
  *valuelen = static_cast<int>(found->size());
  return {};
}

Error info_get_nkeys(const Info* info, int* nkeys) {
  *nkeys = static_cast<int>(info->entries().size());
  return {};
}

Error info_get_nthkey(const Info* info, int n, char* key) {
  const auto entries = info->entries();
  if (n < 0 || static_cast<size_t>(n) >= entries.size())
    return failure(MPI_ERR_ARG, "there is no key {}: the info object has {}, counted from 0", n, entries.size());
  const std::string& found = entries[static_cast<size_t>(n)].first;
  std::memcpy(key, found.c_str(), found.size() + 1);
  return {};
}

}  // namespace tutti::mpi
