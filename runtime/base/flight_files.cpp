// SPDX-License-Identifier: BSD-3-Clause
#include "base/flight_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace tutti::flight {
namespace {

FileRecord* file_record() {
  Record* const record = mine();
  return record ? reinterpret_cast<FileRecord*>(reinterpret_cast<char*>(record) + kFileRecordAt) : nullptr;
}

}  // namespace

int file_opened(std::string_view name) {
  static std::atomic<uint32_t> opened{0};
  FileRecord* const record = file_record();
  if (!record) return -1;
  const auto place = static_cast<int>(opened.fetch_add(1, std::memory_order_relaxed) % kFiles);
  FileName kept;
  const size_t most = sizeof kept.name - 1;
  if (name.size() > most) name.remove_prefix(name.size() - most);
  name.copy(kept.name, most);
  copy(record->files[place], kept);
  return place;
}

namespace inside {
std::atomic<FileListener> file_listener{nullptr};
}
void set_file_listener(FileListener listener) {
  inside::file_listener.store(listener, std::memory_order_relaxed);
}
void AtFile::tell() const {
  if (const FileListener hears = inside::file_listener.load(std::memory_order_relaxed))
    hears(call_, unit_, begun_, clock_now());
}

FileCall* AtFile::place() {
  static std::atomic<uint32_t> threads{0};
  static thread_local const uint32_t number = threads.fetch_add(1, std::memory_order_relaxed);
  FileRecord* const record = file_record();
  return record ? &record->calls[number % kFileCalls] : nullptr;
}

std::string file_calls_text(const FileRecord& record) {
  std::string text;
  for (const FileCall& each : record.calls) {
    if (each.does == FileDoes::nothing || each.file < 0 || each.file >= kFiles) continue;
    const char* const name = record.files[each.file].name;
    const auto moves = [&](const char* call) {
      return fmt::format("in {}, {} bytes at offset {} of {}", call, each.bytes, each.offset, name);
    };
    if (!text.empty()) text += "; ";
    switch (each.does) {
      case FileDoes::nothing:
        break;
      case FileDoes::reads:
        text += moves("pread");
        break;
      case FileDoes::writes:
        text += moves("pwrite");
        break;
      case FileDoes::locks:
        text += moves("fcntl for a lock");
        break;
      case FileDoes::syncs:
        text += fmt::format("in fsync of {}", name);
        break;
      case FileDoes::resizes:
        text += fmt::format("in ftruncate or posix_fallocate of {} to {} bytes", name, each.bytes);
        break;
      case FileDoes::opens:
        text += fmt::format("in open of {}", name);
        break;
      case FileDoes::closes:
        text += fmt::format("in close of {}", name);
        break;
    }
  }
  return text;
}

void make_sound(FileRecord& copy) {
  for (FileName& file : copy.files) file.name[std::size(file.name) - 1] = 0;
  for (FileCall& call : copy.calls) {
    const uint8_t does = *reinterpret_cast<const uint8_t*>(&call.does);
    if (does > static_cast<uint8_t>(FileDoes::closes)) call.does = FileDoes::nothing;
  }
}

}  // namespace tutti::flight
