// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the ranks' output on its way: tags before lines, both streams in one, and copies
// in files of their own.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "launcher/node.hpp"

namespace tutti::launcher {

struct OutputShape {
  bool tag = false, timestamp = false, merge = false;
  bool copy = true;    // to the terminal also what goes into files
  std::string folder;  // FOLDER/rank.N/stdout and stderr
  std::string file;    // a pattern: %r rank, %n node, %j job, %% a percent sign
};

// The file's name of a stream of a rank.
std::string output_file(const OutputShape& shape, int rank, Stream stream, const std::string& node,
                        const std::string& job);
// The pattern has only what output_file() knows.
Error check_pattern(std::string_view pattern);

class OutputFiles {
 public:
  explicit OutputFiles(OutputShape shape) : shape_(std::move(shape)) {}
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  const OutputShape& shape() const { return shape_; }
  bool any() const { return !shape_.folder.empty() || !shape_.file.empty(); }
  std::string with_tags(int rank, std::string bytes) const;
  Error write(int rank, Stream stream, const std::string& node, const std::string& job, std::string_view bytes);

 private:
  OutputShape shape_;
  std::map<std::string, int> open_;  // by name
};

}  // namespace tutti::launcher
