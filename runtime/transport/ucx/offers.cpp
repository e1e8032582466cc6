// SPDX-License-Identifier: BSD-3-Clause
// tutti-ucx: which version of UCX a rank on this machine would load, from which files, and which transports and devices
// UCX offers it, after the variables and files that UCX reads. In libexec, for `tutti report`, and with the word --version,
// for `tutti info`: the launcher itself does not load UCX, which opens devices, and may stand still or crash where one is
// broken.
#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>

namespace {

void print_files() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);)
    if (const size_t path = line.find('/'); path != line.npos && line.find("/libuc", path) != line.npos)
      files.insert(line.substr(path));
  for (const std::string& each : files) std::printf("  %s\n", each.c_str());
}

// UCX prints "#      resource 1  :  md 1  dev 1  flags -- tcp/lo": what stands last is the transport and its device.
void print_offers(ucp_context_h context) {
  char* text = nullptr;
  size_t size = 0;
  FILE* const memory = ::open_memstream(&text, &size);
  if (!memory) return;
  ucp_context_print_info(context, memory);
  std::fclose(memory);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  std::string line, list;
  for (const char* at = text; at < text + size; ++at) {
    if (*at != '\n') {
      line += *at;
      continue;
    }
    if (line.find(" resource ") != line.npos) list += (list.empty() ? "" : ", ") + line.substr(line.rfind(' ') + 1);
    line.clear();
  }
  std::printf("UCX offers: %s\n", list.empty() ? "nothing" : list.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("UCX %s\n", ucp_get_version_string());
    return 0;
  }
  std::printf("UCX %s\n", ucp_get_version_string());
  print_files();
  std::fflush(stdout);
  ucp_config_t* config = nullptr;
  if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &config); status != UCS_OK) {
    std::printf("UCX cannot read its configuration: %s\n", ucs_status_string(status));
    return 1;
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;  // as the library asks for them
  ucp_context_h context = nullptr;
  const ucs_status_t status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  if (status != UCS_OK) {
    std::printf("UCX cannot start: %s\n", ucs_status_string(status));
    return 1;
  }
  print_offers(context);
  ucp_cleanup(context);
  return 0;
}
