// SPDX-License-Identifier: BSD-3-Clause
// What programs' files say of themselves: scripts, ELF files, those that are cut or made to
// mislead.
#include "launcher/node/program_file.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include "launcher/node/elf_file.hpp"
#include "launcher/node/script.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

class ProgramFile : public testing::Test {
 protected:
  ProgramFile() : folder_(fs::path(testing::TempDir()) / ("program_file." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProgramFile() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    ::chmod(path.c_str(), 0755);
    return path;
  }
  fs::path folder_;

  // A folder with libraries of these names that need nothing. This machine's own may need PMIx's.
  std::string folder_of(const std::vector<std::string>& libraries);
};

// A file with 64 bits for this machine that needs these libraries, and nothing else in it.
std::string elf_that_needs(const std::vector<std::string>& libraries, const std::string& folders = "") {
  std::string texts(1, 0);
  std::vector<Elf64_Dyn> entries;
  const auto add = [&](Elf64_Sxword tag, const std::string& text) {
    entries.push_back({tag, {texts.size()}});
    texts += text + '\0';
  };
  for (const std::string& library : libraries) add(DT_NEEDED, library);
  if (!folders.empty()) add(DT_RUNPATH, folders);
  constexpr uint64_t address = 0x10000, head = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  entries.push_back({DT_STRTAB, {address + head + (entries.size() + 2) * sizeof(Elf64_Dyn)}});
  entries.push_back({DT_NULL, {0}});
  const uint64_t dynamic = entries.size() * sizeof(Elf64_Dyn);
  std::ifstream own("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr header;
  own.read(reinterpret_cast<char*>(&header), sizeof header);
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  header.e_phentsize = sizeof(Elf64_Phdr);
  Elf64_Phdr load{}, where{};
  load.p_type = PT_LOAD;
  load.p_vaddr = address;
  load.p_filesz = load.p_memsz = head + dynamic + texts.size();
  where.p_type = PT_DYNAMIC;
  where.p_offset = head;
  where.p_vaddr = address + head;
  where.p_filesz = where.p_memsz = dynamic;
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(&load), sizeof load);
  out.append(reinterpret_cast<const char*>(&where), sizeof where);
  out.append(reinterpret_cast<const char*>(entries.data()), dynamic);
  return out + texts;
}

std::string ProgramFile::folder_of(const std::vector<std::string>& libraries) {
  fs::create_directories(folder_ / "stand-ins");
  for (const std::string& library : libraries)
    if (library.find('/') == library.npos) file("stand-ins/" + library, elf_that_needs({}));
  return folder_ / "stand-ins";
}

std::string said_of(const std::optional<OtherMpi>& other) {
  return !other ? "" : other->joins ? whose_library(*other) : why_refused(*other);
}

TEST_F(ProgramFile, TheMpiIsKnownByItsLibraries) {
  const auto said = [&](const std::vector<std::string>& libraries) {
    const std::string path = file("program", elf_that_needs(libraries));
    return said_of(built_for_another_mpi({path, {"./program"}, folder_, "/usr/bin:/bin", folder_of(libraries)}));
  };
  EXPECT_EQ(said({"libc.so.6", "libmpi.so.40"}),
            "./program is built for Open MPI (it needs libmpi.so.40), and each of its ranks would "
            "be a job of its own; compile it with Tutti's mpicc, or start it with the mpirun of "
            "that MPI (--set launch.foreign_mpi=on starts it all the same)");
  for (const char* open_mpi : {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_cxx.so.40"})
    EXPECT_NE(said({open_mpi}).find("for Open MPI"), std::string::npos) << open_mpi;
  for (const char* mpich :
       {"libmpi.so.12", "libmpich.so.12", "libmpichfort.so.12", "libmpifort.so.12", "/opt/mpich/lib/libmpi.so.12"})
    EXPECT_NE(said({"libm.so.6", mpich}).find("MPICH, Intel MPI or MVAPICH"), std::string::npos) << mpich;
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({"libc.so.6", "libmpi_abi.so.1"}), "");
  EXPECT_EQ(said({"libmpi_abi.so"}), "");
  EXPECT_EQ(said({"libmpi_abi.so.0", "libmpi.so.40"}), "");  // which knows what it does
  EXPECT_EQ(said({"libmpir.so", "libmp.so.3", "libmpifit.so.12", "xlibmpi.so.40"}), "");
}

TEST_F(ProgramFile, AClientOfPmixJoins) {
  const auto joins = [&](const std::vector<std::string>& libraries) {
    const auto other = built_for_another_mpi(
        {file("program", elf_that_needs(libraries)), {"./program"}, folder_, "", folder_of(libraries)});
    return other && other->joins;
  };
  EXPECT_TRUE(joins({"libmpi.so.40", "libpmix.so.2"}));
  EXPECT_TRUE(joins({"libpmix.so.2", "libmpi_mpifh.so.40", "libmpi.so.40"}));
  EXPECT_FALSE(joins({"libmpi.so.40"}));
  EXPECT_FALSE(joins({"libmpi.so.40", "libopen-rte.so.40", "libpmix.so.2"}));  // Open MPI 4
  EXPECT_FALSE(joins({"libmpi.so.12", "libpmix.so.2"}));                       // may speak PMI-1
  // Of a script's programs the one that cannot join decides.
  file("five", elf_that_needs({"libmpi.so.40", "libpmix.so.2"}));
  file("four", elf_that_needs({"libmpi.so.40"}));
  file("both.sh", "#!/bin/sh\n./five\n./four\n");
  const auto both = built_for_another_mpi(
      {folder_ / "both.sh", {"./both.sh"}, folder_, "", folder_of({"libmpi.so.40", "libpmix.so.2"})});
  ASSERT_TRUE(both);
  EXPECT_FALSE(both->joins);
  EXPECT_EQ(both->program, "./four");
}

TEST_F(ProgramFile, TheMpiMayBeBehindALibrary) {
  fs::create_directories(folder_ / "lib");
  file("lib/libsolver.so", elf_that_needs({"libmpi.so.40"}));
  file("lib/libmine.so", elf_that_needs({"libmpi_abi.so.1"}));
  const auto said = [&](const std::vector<std::string>& libraries, const std::string& folders,
                        const std::string& library_path) {
    const std::string path = file("program", elf_that_needs(libraries, folders));
    return said_of(built_for_another_mpi({path, {"p"}, folder_, "", library_path}));
  };
  const std::string lib = folder_ / "lib";
  EXPECT_NE(said({"libsolver.so"}, "$ORIGIN/lib", ""), "");
  EXPECT_NE(said({"libsolver.so"}, "", "/nope:" + lib), "");
  EXPECT_EQ(said({"libsolver.so"}, "", ""), "");
  EXPECT_EQ(said({"libsolver.so", "libmine.so"}, lib, ""), "");
  // A translation: it has the other's name, and needs ours.
  file("lib/libmpi.so.40", elf_that_needs({"libmpi_abi.so.1"}));
  EXPECT_EQ(said({"libmpi.so.40"}, "", lib), "");
  // Libraries that need each other.
  file("lib/liba.so", elf_that_needs({"libb.so"}));
  file("lib/libb.so", elf_that_needs({"liba.so"}));
  EXPECT_EQ(said({"liba.so"}, lib, ""), "");
}

TEST_F(ProgramFile, TheMpiIsSeenThroughScriptsAndCommands) {
  file("app", elf_that_needs({"libmpi.so.40"}));
  fs::create_directories(folder_ / "sub");
  file("sub/below", elf_that_needs({"libmpi.so.40"}));
  file("sub/in.sh", "cd sub\n./below\n");
  file("run.sh", "#!/bin/sh\nexec ./app \"$@\"\n");
  file("any.sh", "#!/usr/bin/env bash\nset -e\nexec \"$@\"\n");
  file("first.sh", "#!/bin/bash -e\nX=1 Y=$X nice -n 3 $1 -v >log 2>&1\n");
  file("deep.sh", "#!/bin/sh\n./run.sh\n");
  file("loop.sh", "#!/bin/sh\n./loop.sh\n");
  file("maybe.sh", "#!/bin/sh\nif [ -e x ]; then\n  ./app\nelse ./ours; fi\n");
  file("elsewhere.sh", "#!/bin/sh\ncd /tmp\n./app\n");
  file("language", "#!./app -i\nanything\n");
  file("python.py", "#!/usr/bin/python3\nimport os; os.execv('./app', ['./app'])\n");
  const auto refused = [&](std::vector<std::string> command) {
    const std::string path =
        command[0].find('/') == std::string::npos ? "/usr/bin/" + command[0] : (folder_ / command[0]).string();
    return built_for_another_mpi({path, std::move(command), folder_, "/usr/bin:/bin", ""}).has_value();
  };
  EXPECT_TRUE(refused({"./app"}));
  EXPECT_TRUE(refused({"./run.sh", "x"}));
  EXPECT_TRUE(refused({"./any.sh", "./app", "x"}));
  EXPECT_TRUE(refused({"./first.sh", "./app"}));
  EXPECT_TRUE(refused({"./deep.sh"}));
  EXPECT_TRUE(refused({"./language"}));
  EXPECT_TRUE(refused({"env", "A=b", "./app"}));
  EXPECT_TRUE(refused({"taskset", "-c", "0", "./run.sh"}));
  EXPECT_TRUE(refused({"sh", "-c", "echo x; ./app"}));
  EXPECT_TRUE(refused({"bash", "-e", "run.sh"}));
  EXPECT_TRUE(refused({"sh", "-c", "exec \"$1\"", "zero", "./app"}));
  EXPECT_TRUE(refused({"sh", "-c", "cd sub && ./below"}));
  EXPECT_TRUE(refused({"bash", "-c", "cd sub; ../app"}));
  EXPECT_TRUE(refused({"bash", "-c", "set -e\ncd sub || exit 1\n./below x"}));
  EXPECT_TRUE(refused({"bash", "-c", "export A=1 && cd sub && cd .. && exec ./app"}));
  EXPECT_TRUE(refused({"bash", "-lc", "./app"}));
  EXPECT_TRUE(refused({"bash", "-o", "pipefail", "-c", "./app | cat"}));
  EXPECT_TRUE(refused({"env", "A=/b/c", "bash", "-c", "cd 'sub' && ./below"}));
  EXPECT_TRUE(refused({"timeout", "9", "nice", "-n", "3", "sh", "-c", "./app"}));
  EXPECT_TRUE(refused({"env", "-C", "sub", "./below"}));
  EXPECT_TRUE(refused({"sh", "sub/in.sh"}));
  EXPECT_FALSE(refused({"sh", "-c", "cd sub && ./app"}));  // there is none
  EXPECT_FALSE(refused({"sh", "-c", "cd missing; ./app"}));
  EXPECT_FALSE(refused({"sh", "-c", "cd $X; ./app"}));
  EXPECT_FALSE(refused({"sh", "-c", "cd -; ./app"}));
  EXPECT_FALSE(refused({"sh", "-c", "cd sub | cat; ./below"}));
  EXPECT_FALSE(refused({"sh", "-c", "cd sub & ./below"}));
  EXPECT_FALSE(refused({"sh", "-c", "if true; then cd sub; fi; ./below"}));
  EXPECT_FALSE(refused({"sh", "-c", "test -e x && ./app"}));
  EXPECT_FALSE(refused({"sh", "-c", "echo x | grep y && ./app"}));
  EXPECT_FALSE(refused({"./loop.sh"}));
  EXPECT_FALSE(refused({"./maybe.sh"}));
  EXPECT_FALSE(refused({"./elsewhere.sh"}));
  EXPECT_FALSE(refused({"./python.py"}));
  EXPECT_FALSE(refused({"./any.sh"}));
  EXPECT_FALSE(refused({"./any.sh", "./missing"}));
  EXPECT_FALSE(refused({"echo", "./app"}));
  EXPECT_FALSE(refused({"sh"}));
  EXPECT_FALSE(refused({"sh", "-c"}));
}

TEST(Script, CommandsThatRunInAnyCase) {
  using List = std::vector<Words>;
  const auto of = [](const char* text) { return commands_of_script(text, {"one", "two"}); };
  EXPECT_EQ(of("a b\n\n# c\nd 'e f' \"g\" h\\ i"), (List{{"a", "b"}, {"d", "e f", "g", "h i"}}));
  EXPECT_EQ(of("A=1 B='2 3' a; b"), (List{{"a"}, {"b"}}));
  EXPECT_EQ(of("a \\\n b\n"), (List{{"a", "b"}}));
  EXPECT_EQ(of("a \"$@\" $2 $3\nb $2\n$HOME/c\n./$X\nd $X"), (List{{"b", "two"}, {"d", ""}}));
  EXPECT_EQ(of("a && b\nc || d\ne | f\ng >h\n"), (List{{"a"}, {"c"}, {"e"}, {"g"}}));
  EXPECT_EQ(of("if a; then b; fi; c\n"), (List{{"c"}}));
  EXPECT_EQ(of("cd x && a && b\ncd /y || exit\nc\n"), (List{{"cd", "x"}, {"a"}, {"cd", "/y"}, {"c"}}));
  EXPECT_EQ(of("echo x && a\necho x | b && c\necho x || d"),
            (List{{"echo", "x"}, {"a"}, {"echo", "x"}, {"echo", "x"}}));
  EXPECT_EQ(of("a\ncd $X\nb\n"), (List{{"a"}}));
  EXPECT_EQ(of("if x; then\ncd y\nfi\nb\n"), List{});
  EXPECT_EQ(of("f() {\n a\n}\nb\n(c; d)\nfor i in x; do\n e\ndone\n"), (List{{"b"}}));
  EXPECT_EQ(of("a\nexec >log\nexec b\nc\n"), (List{{"a"}, {"b"}}));
  EXPECT_EQ(of("a\ncase $1 in\nx) b;;\nesac\n"), (List{{"a"}}));
  EXPECT_EQ(of("a\ncat <<END\nb\nEND\n"), (List{{"a"}}));
  EXPECT_EQ(of("a 'b\nc"), List{});
  EXPECT_EQ(interpreter_of("#! /bin/sh -e\nx"), (Words{"/bin/sh", "-e"}));
  EXPECT_EQ(interpreter_of("#!/bin/sh\r\nx"), (Words{"/bin/sh\r"}));
  EXPECT_FALSE(interpreter_of("#!\n"));
  EXPECT_FALSE(interpreter_of("#"));
  EXPECT_FALSE(interpreter_of(""));
}

TEST_F(ProgramFile, WhyTheKernelRefusesIt) {
  std::string whole;
  {
    std::ostringstream text;
    text << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
    whole = text.str();
  }
  const auto with_machine = [&](int machine, char bits) {
    std::string bytes = whole.substr(0, 4096);
    bytes[EI_CLASS] = bits;
    bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(machine);
    bytes[offsetof(Elf64_Ehdr, e_machine) + 1] = static_cast<char>(machine >> 8);
    return bytes;
  };
  const std::string own = machine_text(*read_elf("/proc/self/exe"));
  EXPECT_EQ(why_not_executed(file("r", with_machine(EM_RISCV, ELFCLASS64)), ENOEXEC),
            "is built for RISC-V, and this machine is " + own);
  EXPECT_EQ(why_not_executed(file("a", with_machine(EM_ARM, ELFCLASS32)), ENOEXEC),
            "is built for 32-bit Arm, and this machine is " + own);
  EXPECT_EQ(why_not_executed(file("n", with_machine(4711, ELFCLASS64)), ENOEXEC),
            "is built for a machine that ELF numbers 4711, and this machine is " + own);
  EXPECT_EQ(why_not_executed(file("hello.c", "int main() {}\n"), ENOEXEC),
            "is a source file: compile it with 'mpicc -o hello hello.c', and start ./hello");
  EXPECT_EQ(why_not_executed(file("empty", ""), ENOEXEC), "is empty");
  EXPECT_EQ(why_not_executed(file("s", "echo x\n"), ENOEXEC),
            "is neither a program nor a script, which begins with a line such as #!/bin/sh");
  EXPECT_EQ(why_not_executed(file("i", "#!/no/such\x1b[2Jsh\n"), ENOENT),
            "names the interpreter /no/such\\x1b[2Jsh in its first line, and there is none");
  EXPECT_NE(why_not_executed(file("d", "#!/bin/sh\r\n"), ENOENT).find("line ends of DOS"), std::string::npos);
  EXPECT_EQ(why_not_executed(file("e", "#!/bin/sh\n"), E2BIG), "");
  EXPECT_NE(what_to_do_with_source("x/sum.f90"), "");
  EXPECT_EQ(what_to_do_with_source("x.d/sum"), "");
  EXPECT_EQ(what_to_do_with_source(".c"), "");
}

// Whatever a file holds, reading it ends and stays within the file.
TEST_F(ProgramFile, FilesThatAreMadeToMislead) {
  const std::string right = elf_that_needs({"libmpi.so.40", "libx.so"}, "$ORIGIN:/lib");
  ASSERT_EQ(read_elf(file("right", right))->needed.size(), 2U);
  std::mt19937_64 random(20260711);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = right;
    for (uint64_t i = random() % 6 + 1; i > 0; --i) {
      const size_t at = random() % bytes.size();
      constexpr uint64_t extremes[] = {0, 1, 0x7fffffffffffffff, ~0ULL, 1ULL << 63, 0xffffffff};
      const uint64_t value = random() % 2 ? extremes[random() % std::size(extremes)] : random();
      std::memcpy(&bytes[at], &value, std::min(sizeof value, bytes.size() - at));
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const std::string path = file("fuzz", bytes);
    if (const auto read = read_elf(path)) {
      EXPECT_LE(read->needed.size(), 4096U);
      machine_text(*read);
    }
    built_for_another_mpi({path, {"fuzz"}, folder_, "", ""});
    commands_of_script(bytes, {"a"});
  }
  EXPECT_FALSE(read_elf("/dev/zero"));
  EXPECT_FALSE(read_elf(folder_));
  EXPECT_FALSE(read_elf(""));
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0700), 0);
  EXPECT_FALSE(read_elf(pipe));
  EXPECT_FALSE(read_text(pipe));
}

}  // namespace
}  // namespace tutti::launcher
