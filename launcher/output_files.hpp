// SPDX-License-Identifier: BSD-3-Clause
// The ranks' output on its way to the user: tags before lines, and copies in files of their own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "launcher/data/output_shape.hpp"

namespace tutti::launcher {

class OutputFiles {
 public:
  explicit OutputFiles(OutputShape shape) : shape_(std::move(shape)) {}
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  const OutputShape& shape() const { return shape_; }
  bool any() const { return !shape_.folder.empty() || !shape_.file.empty(); }
  std::string with_tags(int rank, std::string bytes) const;
  Error write(int rank, OutputStream stream, const std::string& node, const std::string& job, std::string_view bytes);

 private:
  OutputShape shape_;
  std::map<std::string, int> open_;  // by name
};

}  // namespace tutti::launcher
