// SPDX-License-Identifier: BSD-3-Clause
// What mpirun(1) must tell whoever decides where to run it: what is not protected.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace tutti::launcher {
namespace {

// The section's words, one blank apart, without the macros that set them.
std::string section(const std::string& page, const std::string& name) {
  std::ifstream file(TUTTI_SOURCE "/man/" + page);
  std::string out, line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with(".SH ")) {
      inside = line == ".SH " + name;
      continue;
    }
    if (!inside) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word.size() < 2 || word[0] != '.') out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

TEST(Manual, WhatIsNotProtectedIsSaid) {
  const std::string text = section("mpirun.1", "SECURITY");
  for (const char* told : {
           "What else is not protected: after that handshake nothing between the command and its daemons is encrypted "
           "or signed",
           "nor is anything that ranks send each other, by tcp or any other network",
           "UCX believes whoever connects and knows its protocol",
           "who reaches these ports can end the job",
           "A job on several nodes listens on all devices that UCX uses. The variable UCX_NET_DEVICES names those",
           "Use a network that you trust",
           "segments of System V, which UCX makes where transport.shared_memory is off or finds no room, may be read "
           "and "
           "written by the user's group (mode 0660)",
       })
    EXPECT_NE(text.find(told), std::string::npos) << "mpirun(1), SECURITY, lacks: " << told << "\nIt says: " << text;
}

}  // namespace
}  // namespace tutti::launcher
