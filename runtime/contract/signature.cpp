// SPDX-License-Identifier: BSD-3-Clause
#include "contract/signature.hpp"

#include <cctype>

#include "function_names.hpp"
#include "functions.hpp"

namespace tutti::contract {

Difference compare(Word mine, Word theirs) {
  if (mine == theirs || mine == 0 || theirs == 0) return Difference::none;
  if (function_of(mine) != function_of(theirs)) return Difference::function;
  if (form_of(mine) != form_of(theirs)) return Difference::form;
  if (root_is_in_second(mine) != root_is_in_second(theirs)) return Difference::root;
  // Of one function both name a root, or one stands beside it, between two groups, and knows no more.
  if (root_of(mine) != root_of(theirs))
    return root_of(mine) >= 0 && root_of(theirs) >= 0 ? Difference::root : Difference::none;
  if (op_bits_of(mine) != op_bits_of(theirs))
    return op_of(mine) == op_of(theirs) ? Difference::in_place : Difference::op;
  // Nothing to compare on one side: the data are a matter of each pair, or known to the root alone.
  if (bytes_of(mine) == 0 || bytes_of(theirs) == 0) return Difference::none;
  if (bytes_of(mine) != bytes_of(theirs)) return Difference::count;
  const bool exact = type_of(mine) != 0 && type_of(theirs) != 0;
  return exact && type_of(mine) != type_of(theirs) ? Difference::type : Difference::none;
}

Difference compare(const Sides& sides, Word mine, int my_rank, Word theirs, int their_rank) {
  const Difference difference = compare(mine, theirs);
  if (!sides || difference != Difference::none) return difference;
  const auto denies = [](Word word, int rank, Word other) {
    return word && root_of(word) < 0 && root_of(other) >= 0 && rank >= 0 && root_of(other) == rank % kRootMask;
  };
  return denies(mine, my_rank, theirs) || denies(theirs, their_rank, mine) ? Difference::root : difference;
}

std::string name_of(Word word) {
  std::string name = function_of(word) < kFunctionCount ? kFunctionNames[function_of(word)] : "MPI_?";
  switch (form_of(word)) {
    case Form::blocking:
      return name;
    case Form::persistent:
      return name + "_init";
    case Form::nonblocking:
      break;
  }
  if (name == "MPI_Comm_dup") return "MPI_Comm_idup";
  name[4] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[4])));
  return name.insert(4, "I");
}

}  // namespace tutti::contract
