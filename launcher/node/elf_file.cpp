// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tutti::launcher {
namespace {

constexpr int kMostSegments = 256;
constexpr size_t kMostEntries = 4096;  // of the dynamic section
constexpr size_t kLongestText = 1024;

struct Machine {
  int number;
  const char* name;
};
constexpr Machine kMachines[] = {
    {EM_X86_64, "x86-64"},      {EM_386, "32-bit x86"},     {EM_AARCH64, "64-bit Arm (aarch64)"},
    {EM_ARM, "32-bit Arm"},     {EM_PPC64, "64-bit POWER"}, {EM_PPC, "32-bit POWER"},
    {EM_S390, "IBM Z (s390x)"}, {EM_RISCV, "RISC-V"},       {EM_SPARCV9, "64-bit SPARC"},
    {EM_MIPS, "MIPS"},          {EM_IA_64, "Itanium"},      {258, "LoongArch"},
};

// A regular file, read at offsets.
class File {
 public:
  explicit File(const std::string& path)
      // A pipe of this name must not hold us up.
      : fd_(path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat about;
    if (fd_ < 0 || (::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode))) return;
    ::close(fd_);
    fd_ = -1;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;

  // How many bytes there were.
  size_t read(void* into, size_t bytes, uint64_t offset) const {
    if (fd_ < 0 || offset > INT64_MAX) return 0;
    const ssize_t n = ::pread(fd_, into, bytes, static_cast<off_t>(offset));
    return n > 0 ? static_cast<size_t>(n) : 0;
  }
  template <class T>
  bool read(T& into, uint64_t offset) const {
    return read(&into, sizeof into, offset) == sizeof into;
  }
  // Up to the end that it has within the bound; empty otherwise.
  std::string text(uint64_t offset) const {
    char bytes[kLongestText];
    const size_t n = read(bytes, sizeof bytes, offset);
    const size_t length = ::strnlen(bytes, n);
    return length < n ? std::string(bytes, length) : std::string();
  }

 private:
  int fd_;
};

std::vector<Elf64_Phdr> segments_of(const File& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> out;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return out;
  for (int i = 0; i < std::min<int>(header.e_phnum, kMostSegments); ++i) {
    uint64_t offset = 0;
    Elf64_Phdr segment;
    if (__builtin_add_overflow(header.e_phoff, static_cast<uint64_t>(i) * sizeof segment, &offset) ||
        !file.read(segment, offset))
      break;
    out.push_back(segment);
  }
  return out;
}

// Where in the file the bytes of an address stand.
std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz &&
        s.p_offset <= UINT64_MAX - (address - s.p_vaddr))
      return s.p_offset + (address - s.p_vaddr);
  return std::nullopt;
}

// "$ORIGIN/../lib:/opt/lib", of a file in `folder`.
void add_folders(std::string list, const std::string& folder, std::vector<std::string>& out) {
  for (const std::string name : {"${ORIGIN}", "$ORIGIN"})
    for (size_t at; (at = list.find(name)) != list.npos && list.size() < 4 * kLongestText;)
      list.replace(at, name.size(), folder);
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (end > at) out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
}

void read_dynamic(const File& file, const std::vector<Elf64_Phdr>& segments, const Elf64_Phdr& where,
                  const std::string& folder, ElfFile& out) {
  std::vector<Elf64_Dyn> entries(std::min<size_t>(where.p_filesz / sizeof(Elf64_Dyn), kMostEntries));
  entries.resize(file.read(entries.data(), entries.size() * sizeof(Elf64_Dyn), where.p_offset) / sizeof(Elf64_Dyn));
  const auto end = std::ranges::find(entries, DT_NULL, &Elf64_Dyn::d_tag);
  entries.erase(end, entries.end());
  const auto table = std::ranges::find(entries, DT_STRTAB, &Elf64_Dyn::d_tag);
  if (table == entries.end()) return;
  const std::optional<uint64_t> texts = offset_of(segments, table->d_un.d_ptr);
  if (!texts) return;
  for (const Elf64_Dyn& entry : entries) {
    const bool folders = entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    uint64_t offset = 0;
    if ((!folders && entry.d_tag != DT_NEEDED) || __builtin_add_overflow(*texts, entry.d_un.d_val, &offset)) continue;
    std::string text = file.text(offset);
    if (text.empty()) continue;
    if (folders)
      add_folders(std::move(text), folder, out.library_folders);
    else
      out.needed.push_back(std::move(text));
  }
}

uint16_t half_at(const unsigned char* bytes, bool big_endian) {
  return static_cast<uint16_t>(big_endian ? bytes[0] << 8 | bytes[1] : bytes[1] << 8 | bytes[0]);
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path) {
  const File file(path);
  unsigned char head[EI_NIDENT + 4];  // what comes first is alike for 32 and 64 bits: type, machine
  if (!file.read(head, 0) || std::memcmp(head, ELFMAG, SELFMAG) != 0) return std::nullopt;
  ElfFile out;
  out.bits = head[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  out.big_endian = head[EI_DATA] == ELFDATA2MSB;
  out.is_object = half_at(head + EI_NIDENT, out.big_endian) == ET_REL;
  out.machine = half_at(head + EI_NIDENT + 2, out.big_endian);
  Elf64_Ehdr header;
  if (out.bits != 64 || out.big_endian != (std::endian::native == std::endian::big) || !file.read(header, 0))
    return out;
  const std::vector<Elf64_Phdr> segments = segments_of(file, header);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) out.interpreter = file.text(segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) read_dynamic(file, segments, segment, folder, out);
  }
  return out;
}

std::string machine_text(const ElfFile& file) {
  for (const Machine& machine : kMachines)
    if (machine.number == file.machine) return machine.name;
  return fmt::format("a machine that ELF numbers {}", file.machine);
}

}  // namespace tutti::launcher
