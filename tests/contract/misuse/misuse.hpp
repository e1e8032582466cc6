// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of requests, handles and buffers, each mistake through each function that can make it,
// and the right twins: what its files share. One file for each kind of what is misused.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"

namespace misuse {

using Text = std::string;

class Judge {
 public:
  // A call that must fail with this class, in words that hold `words`.
  void wrong(const Text& kind, const Text& name, int code, int wanted, const Text& words = "") {
    const Text text = code == MPI_SUCCESS ? "" : check::error_text(code);
    const bool found = code != MPI_SUCCESS && check::error_class(code) == wanted && text.find(words) != text.npos;
    ++(found ? tallies_[kind].found : tallies_[kind].missed);
    if (!found) std::fprintf(stderr, "missed: %s by %s: \"%s\"\n", kind.c_str(), name.c_str(), text.c_str());
  }
  void right(const Text& kind, const Text& name, int code) {
    ++(code == MPI_SUCCESS ? tallies_[kind].right : tallies_[kind].falsely);
    if (code != MPI_SUCCESS)
      std::fprintf(stderr, "falsely: %s by %s: \"%s\"\n", kind.c_str(), name.c_str(), check::error_text(code).c_str());
  }
  bool report(int rank) const {
    int wrong = 0, all = 0;
    for (const auto& [kind, t] : tallies_) {
      if (rank == 0)
        std::printf("%-32s %4d found %4d missed %4d right %4d accused falsely\n", kind.c_str(), t.found, t.missed,
                    t.right, t.falsely);
      wrong += t.missed + t.falsely;
      all += t.found + t.right;
    }
    if (rank == 0) std::printf("%d in all\n", all + wrong);
    return wrong == 0 && all > 0;
  }

 private:
  struct Tally {
    int found = 0, missed = 0, falsely = 0, right = 0;
  };
  std::map<Text, Tally> tallies_;
};

template <class Handle>
struct User {  // a function that is given the handle
  Text name;
  std::function<int(Handle)> call;
};

inline int in[64], out[64];
inline const MPI_Comm self = MPI_COMM_SELF;

// `strict`: whether --check is.
void handles(Judge& judge, bool strict);
void requests(Judge& judge, bool strict);
void partitions(Judge& judge);
void buffers(Judge& judge, bool strict);
void heap(Judge& judge);                        // likewise
void steady(Judge& judge, int rank, int size);  // of --check=strict alone
void files(Judge& judge, bool strict, int rank, int size);
void graphs(Judge& judge, bool strict, int rank, int size);
void tolerated(Judge& judge, bool strict, int rank, int size);
void agreements(Judge& judge, bool strict, int rank, int size);

}  // namespace misuse
