// SPDX-License-Identifier: BSD-3-Clause
// tutti-where MODULE ADDRESS …: a line for each pair, what stands at that address of the file:
// "solver.c:42, in exchange()", or without debug information "exchange()+0x1c in solver"; an empty
// line where nothing is known. tutti-where --crash FOLDER RANK NODE: the report of a crash, as
// find_crash() has it. In libexec: for the library and `tutti why`, which must not load libdw into a
// rank, and for a launcher that must not wait for files.
#include <cxxabi.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "launcher/node/crashes.hpp"

namespace {

char* no_debug_path = nullptr;
const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &no_debug_path,
};

struct Module {
  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;
  GElf_Addr bias = 0;  // what libdwfl adds to the file's own addresses
};

Module open_module(const std::string& path) {
  Module m;
  m.dwfl = dwfl_begin(&kCallbacks);
  if (!m.dwfl) return m;
  dwfl_report_begin(m.dwfl);
  m.module = dwfl_report_offline(m.dwfl, path.c_str(), path.c_str(), -1);
  dwfl_report_end(m.dwfl, nullptr, nullptr);
  if (m.module && !dwfl_module_getelf(m.module, &m.bias)) m.module = nullptr;
  return m;
}

std::string readable(const char* symbol) {
  // Names of C are none of C++: __cxa_demangle() takes `f` for the type float.
  if (!std::string_view(symbol).starts_with("_Z")) return std::string(symbol) + "()";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  std::string text = status == 0 ? name.get() : symbol;
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (size_t at; (at = text.find(unnamed)) != text.npos;) text.erase(at, unnamed.size());
  // Arguments say more than a line of a report can hold.
  const size_t end = text.find('(');
  return (end == text.npos || end == 0 ? text : text.substr(0, end)) + "()";
}

bool is_fortran(std::string_view file) {
  const size_t dot = file.rfind('.');
  if (dot == file.npos) return false;
  const std::string_view end = file.substr(dot + 1);
  return end[0] == 'f' || end[0] == 'F';
}

// Names of flang: _QMmoduleFhostPprocedure, where names are of small letters.
std::string readable_of_flang(std::string_view name) {
  std::string text;
  for (size_t at = 2; at < name.size();) {
    size_t end = at + 1;
    while (end < name.size() && !(name[end] >= 'A' && name[end] <= 'Z')) ++end;
    const std::string_view part = name.substr(at + 1, end - at - 1);
    if (!part.empty()) text.append(text.empty() ? "" : "::").append(part);
    at = end;
  }
  return text + "()";
}

// As the program calls it: gfortran's procedure_, __module_MOD_procedure, internal_procedure.0 and MAIN__, and flang's.
std::string readable_of_fortran(std::string_view name) {
  if (name == "MAIN__" || name == "main" || name == "_QQmain") return "the main program";
  if (name.starts_with("_Q")) return readable_of_flang(name);
  if (const size_t dot = name.find('.'); dot != name.npos && dot > 0) name = name.substr(0, dot);
  const size_t module = name.find("_MOD_");
  if (name.starts_with("__") && module != name.npos)
    return fmt::format("{}::{}()", name.substr(2, module - 2), name.substr(module + 5));
  if (name.ends_with('_')) name.remove_suffix(1);
  return std::string(name) + "()";
}

struct Line {
  const char* file = nullptr;
  int number = 0;
};

// clang writes no .debug_aranges, without which dwfl_module_getsrc() finds nothing: there each unit is asked.
Line line_of(const Module& m, GElf_Addr biased) {
  Line line;
  if (Dwfl_Line* const found = dwfl_module_getsrc(m.module, biased)) {
    line.file = dwfl_lineinfo(found, nullptr, &line.number, nullptr, nullptr, nullptr);
    return line;
  }
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(m.module, unit, &bias))) {
    if (dwarf_haspc(unit, biased - bias) <= 0) continue;
    Dwarf_Line* const found = dwarf_getsrc_die(unit, biased - bias);
    if (!found || dwarf_lineno(found, &line.number) != 0) continue;
    line.file = dwarf_linesrc(found, nullptr, nullptr);
    break;
  }
  return line;
}

std::string place(const Module& m, const std::string& path, GElf_Addr address) {
  if (!m.module) return {};
  const GElf_Addr biased = address + m.bias;
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name = dwfl_module_addrinfo(m.module, biased, &offset, &symbol, nullptr, nullptr, nullptr);
  if (const Line line = line_of(m, biased); line.file && line.number > 0)
    return fmt::format("{}:{}{}", std::filesystem::path(line.file).filename().string(), line.number,
                       !name                   ? ""
                       : is_fortran(line.file) ? ", in " + readable_of_fortran(name)
                                               : ", in " + readable(name));
  if (!name) return {};
  return fmt::format("{}+{:#x} in {}", readable(name), offset, std::filesystem::path(path).filename().string());
}

// Whoever asks may end, or be killed.
int tell_crash(const char* folder, const char* rank, const char* node) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const auto crash = tutti::launcher::find_crash(folder, std::atoi(rank), node)) std::puts(crash->text.c_str());
  return std::fflush(nullptr) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  ::unsetenv("DEBUGINFOD_URLS");  // libdwfl would ask servers, for longer than anybody waits
  if (argc == 5 && std::string_view(argv[1]) == "--crash") return tell_crash(argv[2], argv[3], argv[4]);
  std::map<std::string, Module> modules;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string path = argv[i];
    const auto [at, fresh] = modules.try_emplace(path);
    if (fresh && !path.empty()) at->second = open_module(path);
    std::puts(place(at->second, path, std::strtoull(argv[i + 1], nullptr, 16)).c_str());
  }
  std::fflush(nullptr);
  std::_Exit(0);  // what libdwfl holds is not worth tidying up
}
