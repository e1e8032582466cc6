// SPDX-License-Identifier: BSD-3-Clause
// A folder for the files of a test, which goes when the test ends well: in $TMPDIR, or in /tmp.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.hpp"

class Scratch {
 public:
  // Collective over MPI_COMM_WORLD.
  Scratch() {
    char path[512] = "";
    if (check::world_rank == 0) {
      const char* top = std::getenv("TMPDIR");
      std::snprintf(path, sizeof path, "%s/tutti-files-XXXXXX", top && *top ? top : "/tmp");
      CHECK(mkdtemp(path) != nullptr);
    }
    OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
    folder_ = path;
  }
  ~Scratch() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (check::world_rank != 0) return;
    for (const std::string& name : names_) ::unlink(name.c_str());
    CHECK(::rmdir(folder_.c_str()) == 0);
  }
  std::string file(const std::string& name) {
    names_.push_back(folder_ + "/" + name);
    return names_.back();
  }

 private:
  std::string folder_;
  std::vector<std::string> names_;
};

inline std::vector<unsigned char> contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The file holds these bytes and no others. Collective: rank 0 looks.
inline void check_contents(const std::string& path, const std::vector<unsigned char>& wanted, const char* what) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (check::world_rank == 0) {
    const std::vector<unsigned char> got = contents(path);
    CHECK_EQ_IN(got.size(), wanted.size(), "%s", what);
    for (size_t i = 0; i < got.size(); ++i) CHECK_EQ_IN(got[i], wanted[i], "%s, byte %zu", what, i);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

inline MPI_File opened(const std::string& path, int amode, MPI_Comm comm = MPI_COMM_WORLD,
                       MPI_Info info = MPI_INFO_NULL) {
  MPI_File file = MPI_FILE_NULL;
  OK(MPI_File_open(comm, path.c_str(), amode, info, &file));
  return file;
}

inline void check_count(const MPI_Status& status, MPI_Datatype type, int wanted) {
  int count = -1;
  OK(MPI_Get_count(&status, type, &count));
  CHECK_EQ(count, wanted);
}
