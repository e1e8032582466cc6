// SPDX-License-Identifier: BSD-3-Clause
// Root asks about the jobs of others as they would: by giving up all that root may, for good. What others write into
// their records, name their files, or answer, can do no more then than they could themselves.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// By name or number. An error: there is no such user, or this process is not root's.
Error become_user(const std::string& user);

// Whose processes on this machine belong to jobs: launchers, daemons, ranks. In rising order.
std::vector<uid_t> users_with_jobs();

// By name, or by number where there is no name.
std::string name_of_user(uid_t user);

// What `text` returns in a process of its own that has become this user; nothing where that fails or takes too long.
std::optional<std::string> told_as(uid_t user, const std::function<std::string()>& text);

}  // namespace tutti::launcher
