// SPDX-License-Identifier: BSD-3-Clause
// Attributes of MPI_COMM_SELF are deleted at the start of MPI_Finalize, last set first, while MPI still
// works; MPI_Init gives what the environment offers.
#include "check.hpp"

namespace {

std::vector<int> order;
int remove(MPI_Comm comm, int, void* value, void* extra) {
  int flag = -1, self = -1, out = 3, in = 0;
  if (comm != MPI_COMM_SELF || extra != &order) std::_Exit(2);
  if (MPI_Finalized(&flag) != MPI_SUCCESS || flag) std::_Exit(3);
  if (MPI_Comm_rank(MPI_COMM_WORLD, &self) != MPI_SUCCESS) std::_Exit(4);
  if (MPI_Sendrecv(&out, 1, MPI_INT, self, 0, &in, 1, MPI_INT, self, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS ||
      in != 3)
    std::_Exit(5);
  order.push_back(*static_cast<int*>(value));
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 10;
  static int values[3] = {0, 1, 2};
  for (int& value : values) {
    int key = MPI_KEYVAL_INVALID;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, remove, &key, &order) != MPI_SUCCESS) return 11;
    if (MPI_Comm_set_attr(MPI_COMM_SELF, key, &value) != MPI_SUCCESS) return 12;
    void* got = nullptr;
    int flag = 0;
    if (MPI_Comm_get_attr(MPI_COMM_SELF, key, &got, &flag) != MPI_SUCCESS || !flag || got != &value) return 13;
    if (MPI_Comm_free_keyval(&key) != MPI_SUCCESS || key != MPI_KEYVAL_INVALID) return 14;
  }
  if (MPI_Finalize() != MPI_SUCCESS) return 15;
  return order == std::vector<int>{2, 1, 0} ? 0 : 16;
}
