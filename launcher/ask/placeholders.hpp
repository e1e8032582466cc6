// SPDX-License-Identifier: BSD-3-Clause
// Takes out of a text what a stranger shall not read: names of hosts and users, home folders and addresses, in whose place
// stands a word that is the same wherever the same was (HOST-1, USER, HOME, ADDR-1), and whatever looks like a secret. In
// case of doubt it takes out. It knows names only from those who tell it; addresses and secrets it knows by their looks.
// Pure: looks at no file and at no variable.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tutti::launcher {

// Whether what stands behind such a name, of a variable, an option or a setting, is nobody's business: DB_PASSWORD, --token.
bool is_name_of_secret(std::string_view name);
// A command with its options and without their values, which may be secret: "ssh -p … -o …".
std::string without_values(std::string_view command);

class Placeholders {
 public:
  // The first one is this machine. Of a name with a domain the short one is the same host, and the domain is hidden, too;
  // of node7 each node with a number.
  void host(std::string_view name);
  void user(std::string_view name);  // the first one is who runs this
  void home(std::string_view folder);
  void secret(std::string_view value);  // hidden wherever it stands

  std::string operator()(std::string_view text);

 private:
  struct Known {
    std::string kind;  // "HOST"
    size_t identity;   // equal for names of one host
    bool operator<(const Known& other) const { return std::tie(kind, identity) < std::tie(other.kind, other.identity); }
  };
  void know(std::string_view name, const Known& known);
  std::string placeholder(const Known& known);
  const Known* find(std::string_view word);
  std::string without_known_secrets(std::string text) const;
  std::string without_homes(std::string_view text);
  std::string address(std::string_view word);  // its placeholder
  std::string without_addresses(std::string_view text);
  std::string without_addresses_of_four(std::string_view text);
  std::string without_names(std::string_view text);
  size_t replace_name(std::string_view text, size_t at, std::string& out);

  std::map<std::string, Known, std::less<>> names_;  // in small letters
  std::set<std::string, std::less<>> written_;       // the names as they were told
  std::set<std::string, std::less<>> numbered_;      // "node", where node7 is a host
  std::map<std::string, size_t> addresses_;
  std::map<Known, size_t> numbers_;  // of those that have been met
  std::map<std::string, size_t> last_number_;
  std::vector<std::string> homes_, secrets_;  // the longest first
  size_t last_identity_ = 0;
};

}  // namespace tutti::launcher
