// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/op.hpp"

#include <algorithm>
#include <climits>

#include "memory/kernels.hpp"
#include "memory/movers.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/handed_over.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/tolerated.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/type/api_op.hpp"
#include "mpi/type/defined_ops.hpp"

namespace tutti::mpi {

namespace {

constexpr unsigned on(TypeClass type_class) {
  return 1u << static_cast<unsigned>(type_class);
}

constexpr unsigned kOrdered =
    on(TypeClass::c_integer) | on(TypeClass::fortran_integer) | on(TypeClass::floating) | on(TypeClass::multi_language);
constexpr unsigned kNumbers = kOrdered | on(TypeClass::complex);
constexpr unsigned kTruths = on(TypeClass::c_integer) | on(TypeClass::logical);
constexpr unsigned kBits =
    on(TypeClass::c_integer) | on(TypeClass::fortran_integer) | on(TypeClass::byte) | on(TypeClass::multi_language);
constexpr unsigned kPairs = on(TypeClass::pair);

// What the standard leaves undefined, and has one plain meaning that other MPIs compute, and programs use.
constexpr unsigned kCharacters = on(TypeClass::character);
constexpr unsigned kTruthsToo = kCharacters | on(TypeClass::multi_language);

// The predefined operations, and the classes of types that each is defined on (6.9.2, 6.9.4), and is
// computed on beyond that.
const struct Row {
  MPI_Op handle;
  const char* name;
  unsigned classes;
  unsigned beyond;
  const char* section;
} kOps[] = {
    {MPI_MIN, "MPI_MIN", kOrdered, kCharacters, "6.9.2"},
    {MPI_MAX, "MPI_MAX", kOrdered, kCharacters, "6.9.2"},
    {MPI_SUM, "MPI_SUM", kNumbers, kCharacters, "6.9.2"},
    {MPI_PROD, "MPI_PROD", kNumbers, kCharacters, "6.9.2"},
    {MPI_LAND, "MPI_LAND", kTruths, kTruthsToo, "6.9.2"},
    {MPI_LOR, "MPI_LOR", kTruths, kTruthsToo, "6.9.2"},
    {MPI_LXOR, "MPI_LXOR", kTruths, kTruthsToo, "6.9.2"},
    {MPI_BAND, "MPI_BAND", kBits, kCharacters, "6.9.2"},
    {MPI_BOR, "MPI_BOR", kBits, kCharacters, "6.9.2"},
    {MPI_BXOR, "MPI_BXOR", kBits, kCharacters, "6.9.2"},
    {MPI_MINLOC, "MPI_MINLOC", kPairs, 0, "6.9.4"},
    {MPI_MAXLOC, "MPI_MAXLOC", kPairs, 0, "6.9.4"},
    {MPI_REPLACE, "MPI_REPLACE", 0, 0, ""},
    {MPI_NO_OP, "MPI_NO_OP", 0, 0, ""},
};

constexpr uintptr_t kFirst = 0x20;  // MPI_OP_NULL

uintptr_t code_of(MPI_Op handle) {
  return reinterpret_cast<uintptr_t>(handle) - kFirst;
}

struct Predefined {
  Predefined() {
    for (const Row& row : kOps) {
      auto* op = new Op;  // never destroyed
      op->predefined = true;
      op->commutative = row.handle != MPI_REPLACE && row.handle != MPI_NO_OP;
      op->handle = row.handle;
      op->name = row.name;
      ops[code_of(row.handle)] = op;
      rows[code_of(row.handle)] = &row;
    }
  }
  Op* ops[memory::kOpCodes] = {};
  const Row* rows[memory::kOpCodes] = {};
};

const Predefined& predefined_ops() {
  static const Predefined all;
  return all;
}

Error refused(const Row& row, const Datatype& type) {
  if (row.classes == 0)
    return failure(MPI_ERR_OP, "{} is for one-sided accumulate operations only (the standard, 12.3.4)", row.name);
  if (type.element == Element::none)
    return failure(MPI_ERR_OP,
                   "{} is not defined on {}: predefined operations work on predefined datatypes; "
                   "for this one make an operation with MPI_Op_create (the standard, {})",
                   row.name, description(type), row.section);
  return failure(MPI_ERR_OP, "{} is not defined on {} (the standard, {})", row.name, description(type), row.section);
}

const Layout& layout_of(const Reduction& self) {
  return *resolve_also_freed<Datatype>(static_cast<MPI_Datatype>(self.datatype))->layout;
}

// A user's function puts the result on its right operand.
void bring(const Layout& layout, const void* right, void* into, int64_t count) {
  if (right != into) memory::copy({const_cast<void*>(right), count, &layout}, {into, count, &layout});
}

// What a user's function gets, and has `length` and `datatype` of its own.
template <class Length>
void hand_over_operands(const Reduction& self, const void* left, void* into, Length& length, MPI_Datatype& datatype) {
  const Layout& layout = layout_of(self);
  hand_over(Payload{const_cast<void*>(left), length, &layout});
  hand_over(Payload{into, length, &layout});
  hand_over(length);
  hand_over(datatype);
  hand_over_arguments(4);
}

// A user's function gets copies of what it could change through its pointers.
void apply_large(const Reduction& self, const void* left, const void* right, void* into, int64_t count) {
  bring(layout_of(self), right, into, count);
  auto* function = reinterpret_cast<MPI_User_function_c*>(const_cast<void*>(self.function));
  auto datatype = static_cast<MPI_Datatype>(self.datatype);
  MPI_Count length = count;
  const InCallback in_callback;
  hand_over_operands(self, left, into, length, datatype);
  function(const_cast<void*>(left), into, &length, &datatype);
}

// In calls of at most INT_MAX elements.
void apply_small(const Reduction& self, const void* left, const void* right, void* into, int64_t count) {
  auto* function = reinterpret_cast<MPI_User_function*>(const_cast<void*>(self.function));
  const Layout& layout = layout_of(self);
  bring(layout, right, into, count);
  const InCallback in_callback;
  for (int64_t done = 0; done < count;) {
    auto datatype = static_cast<MPI_Datatype>(self.datatype);
    int length = static_cast<int>(std::min<int64_t>(count - done, INT_MAX));
    const int64_t offset = done == 0 ? 0 : done * layout.extent();
    char* const left_part = static_cast<char*>(const_cast<void*>(left)) + offset;
    char* const into_part = static_cast<char*>(into) + offset;
    hand_over_operands(self, left_part, into_part, length, datatype);
    function(left_part, into_part, &length, &datatype);
    done += std::min<int64_t>(count - done, INT_MAX);
  }
}

template <class Function>
Error create(Function* Op::* member, Function* user_fn, int commute, MPI_Op* op) {
  if (user_fn == nullptr) return failure(MPI_ERR_ARG, "the function is NULL");
  auto* made = new Op;
  made->*member = user_fn;
  made->commutative = commute != 0;
  *op = inventory::hand_out(*made);
  return {};
}

}  // namespace

Op* HandleOf<Op>::predefined(uintptr_t value) {
  return value - kFirst < memory::kOpCodes ? predefined_ops().ops[value - kFirst] : nullptr;
}

bool is_defined_on(const Op& op, const Datatype& type) {
  if (!op.predefined) return false;
  const uintptr_t code = code_of(op.handle);
  return (predefined_ops().rows[code]->classes & on(type.type_class)) != 0 &&
         memory::find_kernel(static_cast<memory::OpCode>(code), type.element) != nullptr;
}

Result<Reduction> bind(const Op& op, int64_t count, const Datatype& type, bool tells) {
  Reduction bound;
  bound.commutative = op.commutative;
  if (!op.predefined) {
    bound.apply = op.function ? apply_small : apply_large;
    bound.function =
        op.function ? reinterpret_cast<const void*>(op.function) : reinterpret_cast<const void*>(op.function_large);
    bound.datatype = type.handle;
    return bound;
  }
  const uintptr_t code = code_of(op.handle);
  const Row& row = *predefined_ops().rows[code];
  if ((row.classes | row.beyond) & on(type.type_class))
    bound.apply = memory::find_kernel(static_cast<memory::OpCode>(code), type.element);
  if (bound.apply == nullptr) {
    Error error = refused(row, type);
    if (count != 0 || row.classes == 0) return error;
    if (Error e = tolerated(Tolerated::undefined_operation, std::move(error), nullptr, tells)) return e;
    bound.apply = [](const Reduction&, const void*, const void*, void*, int64_t) {};
    return bound;
  }
  if (checking.watcher && !(row.classes & on(type.type_class))) [[unlikely]]
    checking.watcher->computes_undefined(fmt::format("{} on {}", row.name, description(type)));
  return bound;
}

Error op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
  return create(&Op::function, user_fn, commute, op);
}

Error op_create(MPI_User_function_c* user_fn, int commute, MPI_Op* op) {
  return create(&Op::function_large, user_fn, commute, op);
}

Error op_free(MPI_Op* op) {
  Op* freed = resolve<Op>(*op);
  if (freed->predefined) return failure(MPI_ERR_OP, "{} is predefined and cannot be freed", freed->name);
  freed->free_handle();
  *op = MPI_OP_NULL;
  return {};
}

Error op_commutative(const Op& op, int* commute) {
  *commute = op.commutative;
  return {};
}

Error reduce_local(const void* inbuf, void* inoutbuf, int64_t count, const Datatype& datatype, const Op& op) {
  if (count > 0 && inbuf == inoutbuf && inbuf != MPI_BOTTOM)
    return failure(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same address {}", inbuf);
  auto bound = bind(op, count, datatype);
  if (!bound) return std::move(bound).error();
  memory::reduce(*bound, inbuf, inoutbuf, inoutbuf, count);
  return {};
}

}  // namespace tutti::mpi
