// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of requests, handles and buffers, and the right twins. Errors are returned here; what a user
// reads is reports.sh's. Prints for each class what was found, what missed, and what accused falsely.
// usage: misuse basic|strict       Under basic only what is always diagnosed.
#include "misuse/misuse.hpp"

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const bool strict = argc > 1 && std::string(argv[1]) == "strict";
  misuse::Judge judge;
  misuse::handles(judge, strict);
  misuse::requests(judge, strict);
  misuse::partitions(judge);
  misuse::buffers(judge, strict);
  if (strict) misuse::heap(judge);
  if (strict) misuse::steady(judge, world.rank(), world.size());
  misuse::files(judge, strict, world.rank(), world.size());
  misuse::graphs(judge, strict, world.rank(), world.size());
  misuse::tolerated(judge, strict, world.rank(), world.size());
  misuse::agreements(judge, strict, world.rank(), world.size());
  CHECK(judge.report(world.rank()));
  return 0;
}
