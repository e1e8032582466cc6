// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/tune/tuned_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/config.hpp"
#include "base/file_text.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "# >>> tutti tune", kEnd = "# <<< tutti tune";

struct Span {
  size_t begin = 0, end = 0;  // whole lines
};

// Where a line begins with `mark`, from `from` on; npos: none does.
size_t line_with(std::string_view text, std::string_view mark, size_t from) {
  for (size_t at = text.find(mark, from); at != text.npos; at = text.find(mark, at + 1))
    if (at == 0 || text[at - 1] == '\n') return at;
  return text.npos;
}

// The lines from one mark to the other; none: there are no marks.
Result<std::optional<Span>> own_lines(std::string_view text) {
  const size_t begin = line_with(text, kBegin, 0), end = line_with(text, kEnd, 0);
  if (begin == text.npos && end == text.npos) return std::optional<Span>();
  const bool is_pair = begin != text.npos && end != text.npos && begin < end &&
                       line_with(text, kBegin, begin + 1) == text.npos && line_with(text, kEnd, end + 1) == text.npos;
  if (!is_pair)
    return failure(MPI_ERR_FILE,
                   "a line with '{}' and one with '{}' belong together, once: take away what is left of them", kBegin,
                   kEnd);
  const size_t line_end = text.find('\n', end);
  return std::optional(Span{begin, line_end == text.npos ? text.size() : line_end + 1});
}

// A file of this process' own, beside the one that it may become, and gone with this if it has not.
class Unfinished {
 public:
  explicit Unfinished(const std::string& beside) : path_(fmt::format("{}.{}", beside, ::getpid())) {}
  ~Unfinished() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  const std::string& path() const { return path_; }

  Error write(std::string_view text) const {
    std::ofstream out(path_, std::ios::trunc);
    out << text;
    out.close();
    if (out) return {};
    return failure(MPI_ERR_FILE, "{} cannot be written: {}", path_, std::strerror(errno ? errno : EIO));
  }
  // With the mode that the file has had.
  Error become(const std::string& file) {
    struct stat old{};
    if (::stat(file.c_str(), &old) == 0) ::chmod(path_.c_str(), old.st_mode & 07777);
    if (std::rename(path_.c_str(), file.c_str()) != 0)
      return failure(MPI_ERR_FILE, "{} cannot be written: {}", file, std::strerror(errno));
    path_.clear();
    return {};
  }

 private:
  std::string path_;
};

// The settings that this file alone gives.
Result<Config> settings_in(const std::string& path) {
  SettingSources sources;
  sources.user_file = path;
  return Config::load({}, sources);
}

// As they were found, but for what is between the marks: with the lines still of the same numbers.
std::string without(std::string_view text, const Span& own) {
  std::string out(text);
  for (size_t at = own.begin; at < own.end; ++at)
    if (out[at] != '\n') out[at] = ' ';
  return out;
}

// In place of the name of the file that it will be.
std::string named(std::string text, const std::string& path, const std::string& file) {
  for (size_t at = text.find(path); at != text.npos; at = text.find(path, at + file.size()))
    text.replace(at, path.size(), file);
  return text;
}

}  // namespace

std::string tuned_lines(const TunedSettings& settings) {
  if (settings.values.empty()) return {};
  std::string out = fmt::format("{}: written by it; the next run replaces these lines\n", kBegin);
  for (const std::string& remark : settings.remarks) out += fmt::format("# {}\n", remark);
  for (const auto& [name, value] : settings.values) out += fmt::format("{}: '{}'\n", name, value);
  return out + fmt::format("{}\n", kEnd);
}

Result<std::string> with_tuned_lines(std::string_view text, std::string_view lines) {
  Result<std::optional<Span>> own = own_lines(text);
  if (!own) return std::move(own).error();
  if (*own) return fmt::format("{}{}{}", text.substr(0, (*own)->begin), lines, text.substr((*own)->end));
  const bool needs_end = !text.empty() && text.back() != '\n' && !lines.empty();
  return fmt::format("{}{}{}", text, needs_end ? "\n" : "", lines);
}

namespace {

// Where a file that is not there would be made.
Error check_folder_of(const std::string& file) {
  std::error_code problem;
  fs::path folder = fs::absolute(file, problem).parent_path();
  while (!problem && !fs::exists(folder, problem) && folder.has_relative_path()) folder = folder.parent_path();
  if (!problem && ::access(folder.c_str(), W_OK | X_OK) != 0) problem = std::error_code(errno, std::generic_category());
  if (!problem && !fs::is_directory(folder, problem)) problem = std::make_error_code(std::errc::not_a_directory);
  if (!problem) return {};
  return failure(MPI_ERR_FILE, "{} cannot be written: {}", file, problem.message());
}

// The file behind links, which stay; and what is in it.
struct Found {
  std::string path, text;
};
Result<Found> find(const std::string& file) {
  std::error_code problem;
  const fs::path path = fs::canonical(file, problem);
  if (problem) return failure(MPI_ERR_FILE, "{} cannot be read: {}", file, problem.message());
  if (!fs::is_regular_file(path, problem))
    return failure(MPI_ERR_FILE, "{} is no file of settings, but a folder, a device or the like", file);
  Result<std::string> text = text_of(path.string());
  if (!text) return failure(MPI_ERR_FILE, "{} cannot be read: {}", file, text.error().message());
  return Found{path.string(), *std::move(text)};
}

bool is_there(const std::string& file) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(file, ignored));
}

}  // namespace

Error check_tuned_file(const std::string& file, const std::vector<std::string>& names) {
  if (!is_there(file)) return check_folder_of(file);
  Result<Found> found = find(file);
  if (!found) return std::move(found).error();
  Result<std::optional<Span>> own = own_lines(found->text);
  if (!own) return std::move(own).error().within(file);
  Unfinished unfinished(found->path);
  if (Error e = unfinished.write(without(found->text, own->value_or(Span{})))) return e;
  Result<Config> others = settings_in(unfinished.path());
  if (!others) return failure(MPI_ERR_FILE, "{}", named(others.error().message(), unfinished.path(), file));
  for (const std::string& name : names)
    if (const std::string& origin = others->value(name).origin; origin != "default")
      return failure(MPI_ERR_FILE,
                     "{} gives {} already: take that line away if 'tutti tune' is to choose it, or have it write "
                     "another file by -o",
                     named(origin, unfinished.path(), file), name);
  return {};
}

Error write_tuned_lines(const std::string& file, std::string_view lines, const std::vector<std::string>& names) {
  if (Error e = check_tuned_file(file, names)) return e;
  Found before{file, ""};
  if (is_there(file)) {
    Result<Found> found = find(file);
    if (!found) return std::move(found).error();
    before = *std::move(found);
  }
  Result<std::string> after = with_tuned_lines(before.text, lines);
  if (!after) return std::move(after).error().within(file);
  if (*after == before.text) return {};
  std::error_code problem;
  if (const fs::path folder = fs::path(before.path).parent_path(); !folder.empty())
    fs::create_directories(folder, problem);
  if (problem) return failure(MPI_ERR_FILE, "{} cannot be written: {}", file, problem.message());
  Unfinished unfinished(before.path);
  if (Error e = unfinished.write(*after)) return e;
  if (Result<Config> all = settings_in(unfinished.path()); !all)
    return failure(MPI_ERR_FILE, "{}", named(all.error().message(), unfinished.path(), file));
  return unfinished.become(before.path);
}

}  // namespace tutti::launcher
