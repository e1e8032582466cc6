// SPDX-License-Identifier: BSD-3-Clause
// How a library calls another one is a slot in its memory with the address of the function.
#include "base/os/call_slots.hpp"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

struct Loaded {
  ElfW(Addr) base = 0, read_only = 0, read_only_end = 0;
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;

  template <class T>
  const T* at(ElfW(Addr) address) const {  // the loader has made some addresses absolute
    return reinterpret_cast<const T*>(address < base ? base + address : address);
  }
};

// Writes the address of another function into the slot that the library calls it through. False: it stays as it is.
bool redirect(const Loaded& library, const ElfW(Rela) & relocation, Instead instead) {
  const char* name = library.strings + library.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
  void* const function = instead(name);
  if (function == nullptr) return false;
  const ElfW(Addr) slot = library.base + relocation.r_offset;
  const auto page_size = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  auto* const page = reinterpret_cast<void*>(slot / page_size * page_size);
  const bool read_only = slot >= library.read_only && slot < library.read_only_end;
  if (read_only && ::mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
  std::memcpy(reinterpret_cast<void*>(slot), &function, sizeof function);
  if (read_only) ::mprotect(page, page_size, PROT_READ);
  return true;
}

struct Redirection {
  std::span<const std::string_view> libraries;
  Instead instead;
  int slots = 0;  // redirected so far
};

int look_at(dl_phdr_info* info, size_t, void* wanted) {
  auto& [libraries, instead, slots] = *static_cast<Redirection*>(wanted);
  const std::string_view name = info->dlpi_name;
  if (std::ranges::none_of(libraries, [&](std::string_view each) { return name.find(each) != name.npos; })) return 0;
  Loaded library{.base = info->dlpi_addr};
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) dynamic = library.at<ElfW(Dyn)>(library.base + part.p_vaddr);
    if (part.p_type != PT_GNU_RELRO) continue;
    library.read_only = library.base + part.p_vaddr;
    library.read_only_end = library.read_only + part.p_memsz;
  }
  if (dynamic == nullptr) return 0;
  const ElfW(Rela)* data = nullptr, *calls = nullptr;
  size_t data_size = 0, calls_size = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) switch (dynamic->d_tag) {
        // clang-format off
      case DT_STRTAB: library.strings = library.at<char>(dynamic->d_un.d_ptr); break;
      case DT_SYMTAB: library.symbols = library.at<ElfW(Sym)>(dynamic->d_un.d_ptr); break;
      case DT_RELA: data = library.at<ElfW(Rela)>(dynamic->d_un.d_ptr); break;
      case DT_RELASZ: data_size = dynamic->d_un.d_val; break;
      case DT_JMPREL: calls = library.at<ElfW(Rela)>(dynamic->d_un.d_ptr); break;
      case DT_PLTRELSZ: calls_size = dynamic->d_un.d_val; break;
      default: break;
        // clang-format on
    }
  if (library.strings == nullptr || library.symbols == nullptr) return 0;
  for (size_t i = 0; i < data_size / sizeof *data; i++) slots += redirect(library, data[i], instead);
  for (size_t i = 0; i < calls_size / sizeof *calls; i++) slots += redirect(library, calls[i], instead);
  return 0;
}

}  // namespace

int redirect_calls(std::span<const std::string_view> libraries, Instead instead) {
  Redirection wanted{libraries, instead};
  ::dl_iterate_phdr(look_at, &wanted);
  return wanted.slots;
}

}  // namespace tutti
