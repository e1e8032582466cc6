// SPDX-License-Identifier: BSD-3-Clause
#include "base/elf_address.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>

namespace tutti {

uint64_t address_at_file_offset(const std::string& file, uint64_t offset) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return offset;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    in.seekg(static_cast<std::streamoff>(header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize));
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return offset;
    if (segment.p_type == PT_LOAD && offset >= segment.p_offset &&
        offset < segment.p_offset + segment.p_filesz)
      return offset - segment.p_offset + segment.p_vaddr;
  }
  return offset;
}

}  // namespace tutti
