// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/program_file.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/printable.hpp"
#include "launcher/node/elf_file.hpp"
#include "launcher/node/other_mpi.hpp"
#include "launcher/node/script.hpp"
#include "launcher/node/spawn.hpp"

namespace tutti::launcher {
namespace {

constexpr int kDeepest = 4;             // scripts that start scripts
constexpr size_t kMostLibraries = 200;  // that are looked into for one program

// They have no MPI in them, and nearly every program needs them.
constexpr std::string_view kPlainLibraries[] = {"libc.so",  "libm.so",      "libpthread.so", "libdl.so",  "librt.so",
                                                "ld-linux", "libstdc++.so", "libgcc_s.so",   "linux-vdso"};
constexpr const char* kLibraryFolders[] = {"/lib/x86_64-linux-gnu",
                                           "/usr/lib/x86_64-linux-gnu",
                                           "/lib/aarch64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu",
                                           "/lib64",
                                           "/usr/lib64",
                                           "/usr/local/lib",
                                           "/usr/local/lib64",
                                           "/lib",
                                           "/usr/lib"};

// Commands that start the program among their arguments.
constexpr std::string_view kCarriers[] = {
    "env",      "nice",   "nohup",  "setsid", "time", "timeout",    "stdbuf", "ionice", "taskset", "numactl",
    "valgrind", "strace", "ltrace", "gdb",    "perf", "hwloc-bind", "chrt",   "exec",   "command", "catchsegv"};
constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ksh", "mksh", "zsh", "ash"};

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_one_of(const std::string& word, std::span<const std::string_view> names) {
  return std::ranges::count(names, std::string_view(word)) > 0;
}

std::string library_in(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != name.npos) return name;
  for (const std::string& folder : folders) {
    std::string path = folder;
    path.append("/").append(name);
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

std::vector<std::string> split_folders(const std::string& list) {
  std::vector<std::string> out;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (end > at) out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Through the libraries that the program needs, nearest first: the MPI may be behind one of the
// program's own libraries. Whatever needs the standard's ABI is ours, and so is a program whose
// "other" MPI is a translation that needs it.
std::optional<OtherMpi> foreign_library(const ElfFile& program, const std::string& library_path) {
  std::vector<std::string> folders = split_folders(library_path);
  folders.insert(folders.begin(), program.library_folders.begin(), program.library_folders.end());
  folders.insert(folders.end(), std::begin(kLibraryFolders), std::end(kLibraryFolders));
  std::vector<std::string> names = program.needed;
  MpiLibraries seen;
  for (size_t at = 0; at < names.size() && names.size() < kMostLibraries && !seen.is_standard(); ++at) {
    const std::string name = names[at];
    const auto plain = [&](std::string_view begin) { return name.starts_with(begin); };
    if (std::ranges::any_of(kPlainLibraries, plain)) continue;
    seen.see(name);
    const std::optional<ElfFile> library = read_elf(library_in(name, folders));
    if (!library) continue;
    for (const std::string& next : library->needed)
      if (std::ranges::count(names, next) == 0) names.push_back(next);
  }
  if (!seen.is_foreign()) return std::nullopt;
  return OtherMpi{"", seen.mpi(), seen.library(), seen.joins_by_pmix()};
}

std::optional<OtherMpi> judge(const ProgramStart& start, int depth);

std::string in_folder(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

// What a script, or the text after -c, starts; of several rather one that cannot join.
std::optional<OtherMpi> judge_script(const ProgramStart& start, std::string_view text,
                                     const std::vector<std::string>& arguments, int depth) {
  std::string folder = start.folder;
  std::optional<OtherMpi> found;
  for (std::vector<std::string>& words : commands_of_script(text, arguments)) {
    if (words[0] == "cd" && words.size() == 2) {
      folder = in_folder(folder, words[1]);
      struct stat about;
      if (::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return found;
      continue;
    }
    const Program program = find_program(words[0], start.search_path, folder);
    const std::string path = program.path.empty() ? words[0] : program.path;
    auto other = judge({path, std::move(words), folder, start.search_path, start.library_path}, depth + 1);
    if (other && !other->joins) return other;
    if (!found) found = std::move(other);
  }
  return found;
}

// A shell that is told a file or, with -c, a text.
std::optional<OtherMpi> judge_shell(const ProgramStart& start, int depth) {
  const std::vector<std::string>& words = start.command;
  // Letters stand together: bash -lc TEXT.
  const auto has_letter = [&](size_t word, char letter) {
    return words[word].starts_with('-') && !words[word].starts_with("--") &&
           words[word].find(letter) != words[word].npos;
  };
  size_t at = 1;
  while (at < words.size() && (words[at].starts_with('-') || words[at].starts_with('+')) && !has_letter(at, 'c'))
    at += has_letter(at, 'o') || words[at] == "+o" ? 2 : 1;  // such as -o pipefail
  if (at >= words.size()) return std::nullopt;
  if (has_letter(at, 'c')) {
    if (at + 1 >= words.size()) return std::nullopt;
    // The word behind the text is $0.
    const size_t first = std::min(at + 3, words.size());
    return judge_script(start, words[at + 1], {words.begin() + static_cast<std::ptrdiff_t>(first), words.end()}, depth);
  }
  ProgramStart script = start;
  script.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  script.path = in_folder(start.folder, words[at]);
  const std::optional<std::string> text = read_text(script.path);
  if (!text) return std::nullopt;
  return judge_script(script, *text, {script.command.begin() + 1, script.command.end()}, depth);
}

std::optional<OtherMpi> judge(const ProgramStart& start, int depth) {
  if (depth > kDeepest || start.command.empty()) return std::nullopt;
  const std::string name = base_name(start.command[0]);
  if (is_one_of(name, kShells)) return judge_shell(start, depth);
  if (is_one_of(name, kCarriers)) {
    // Its first argument that is a path of a program, or a shell, or another such command; options and numbers
    // are none.
    ProgramStart carried = start;
    for (size_t at = 1; at < start.command.size(); ++at) {
      const std::string& word = start.command[at];
      if (name == "env" && word == "-C" && at + 1 < start.command.size())
        carried.folder = in_folder(start.folder, start.command[++at]);
      if (name == "env" && word.starts_with("--chdir=")) carried.folder = in_folder(start.folder, word.substr(8));
      const bool by_name = is_one_of(word, kShells) || is_one_of(word, kCarriers);
      if ((word.find('/') == word.npos && !by_name) || word.starts_with('-')) continue;
      carried.command.assign(start.command.begin() + static_cast<std::ptrdiff_t>(at), start.command.end());
      carried.path = find_program(word, start.search_path, carried.folder).path;
      if (!carried.path.empty()) return judge(carried, depth + 1);
    }
    return std::nullopt;
  }
  if (const std::optional<ElfFile> file = read_elf(start.path)) {
    std::optional<OtherMpi> found = foreign_library(*file, start.library_path);
    if (found) found->program = start.command[0];
    return found;
  }
  const std::optional<std::string> text = read_text(start.path);
  const std::optional<std::vector<std::string>> interpreter = text ? interpreter_of(*text) : std::nullopt;
  if (!interpreter) return std::nullopt;
  if (is_one_of(base_name((*interpreter)[0]), kShells) ||
      (base_name((*interpreter)[0]) == "env" && interpreter->size() > 1 &&
       is_one_of(base_name((*interpreter)[1]), kShells)))
    return judge_script(start, *text, {start.command.begin() + 1, start.command.end()}, depth);
  // Such as "#!/opt/app/bin/solver": a program that is a language of its own.
  std::vector<std::string> words = *interpreter;
  words.push_back(start.path);
  const std::string path = in_folder(start.folder, words[0]);
  return judge({path, std::move(words), start.folder, start.search_path, start.library_path}, depth + 1);
}

}  // namespace

std::optional<OtherMpi> built_for_another_mpi(const ProgramStart& start) {
  return judge(start, 0);
}

std::string why_refused(const OtherMpi& other) {
  return fmt::format(
      "{} is built for {} (it needs {}), and each of its ranks would be a job of its own; compile it with Tutti's "
      "mpicc, "
      "or start it with the mpirun of that MPI (--set launch.foreign_mpi=on starts it all the same)",
      printable(other.program), other.mpi, printable(other.library));
}

std::string whose_library(const OtherMpi& other) {
  return fmt::format(
      "{} runs with the library of {} ({}), which finds its ranks by PMIx: a job of Tutti's mpirun, but none of its "
      "library",
      printable(other.program), other.mpi, printable(other.library));
}

std::string what_to_do_with_source(const std::string& path) {
  const std::string name = base_name(path);
  const size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return {};
  const std::string stem = name.substr(0, dot), ending = name.substr(dot + 1);
  constexpr std::string_view c_plus_plus[] = {"cc", "cpp", "cxx", "c++", "C", "CC"};
  constexpr std::string_view fortran[] = {"f", "for", "f90", "f95", "f03", "f08", "F", "F90"};
  if (ending == "c")
    return fmt::format("is a source file: compile it with 'mpicc -o {0} {1}', and start ./{0}", stem, name);
  if (is_one_of(ending, c_plus_plus))
    return fmt::format("is a source file: compile it with 'mpicxx -o {0} {1}', and start ./{0}", stem, name);
  if (is_one_of(ending, fortran)) return "is a source file: compile it, and start what comes of it";
  if (ending == "o") return fmt::format("is not linked yet: try 'mpicc -o {} {}'", stem, name);
  if (ending == "py") return fmt::format("is for an interpreter: start 'python3 {}'", name);
  return {};
}

std::string why_not_executed(const std::string& path, int error_number) {
  const std::optional<ElfFile> file = read_elf(path), own = read_elf("/proc/self/exe");
  const std::optional<std::string> text = file ? std::nullopt : read_text(path);
  const std::optional<std::vector<std::string>> interpreter = text ? interpreter_of(*text) : std::nullopt;
  if (error_number == ENOEXEC || error_number == ELIBBAD) {
    if (file && own &&
        (file->machine != own->machine || file->bits != own->bits || file->big_endian != own->big_endian))
      return fmt::format("is built for {}, and this machine is {}", machine_text(*file), machine_text(*own));
    if (std::string source = what_to_do_with_source(path); !source.empty()) return source;
    if (file && file->is_object) return "is not linked yet: it is what a compiler makes of one source";
    if (file) return "is no whole program: the file is cut, or no compiler has made it";
    if (text && text->empty()) return "is empty";
    return "is neither a program nor a script, which begins with a line such as #!/bin/sh";
  }
  if (error_number != ENOENT && error_number != EACCES) return {};
  const std::string wanted = interpreter ? (*interpreter)[0] : file ? file->interpreter : "";
  if (wanted.empty()) return {};
  if (error_number == EACCES)
    return ::access(wanted.c_str(), X_OK) == 0 || ::access(path.c_str(), X_OK) != 0
               ? ""
               : fmt::format("names the interpreter {}, which is not executable", printable(wanted));
  if (file)
    return fmt::format(
        "needs the dynamic linker {}, which this machine does not have: it is built for another "
        "system",
        printable(wanted));
  if (wanted.ends_with('\r'))
    return "has the line ends of DOS, which the kernel takes for a part of the interpreter's name; "
           "'sed -i s/\\\\r$//' takes them away";
  return fmt::format("names the interpreter {} in its first line, and there is none", printable(wanted));
}

}  // namespace tutti::launcher
