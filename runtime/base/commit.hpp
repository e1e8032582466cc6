// SPDX-License-Identifier: BSD-3-Clause
// The commit that this Tutti was built of, for the library's string and `tutti info`. What holds the text is made anew at
// each build and linked into the library and the launcher alone, so that a commit compiles one small file.
#pragma once

namespace tutti {

// "161ee3225c8f", or "161ee3225c8f with changes" where files were changed in the clone; empty where nobody knows.
extern const char* const kCommit;

}  // namespace tutti
