// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of the standard's chapter 5 call, and those that read a status by a
// datatype. Handles, counts and addresses of results are checked before; what a type cannot be made
// of, here. A large-count form has a function of its own only where MPI_Type_get_contents can tell
// it from the other (5.1.13).
#pragma once

#include "base/ints.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// --- constructors (5.1.2 to 5.1.4, 5.1.7, 5.1.10)
Error type_contiguous(int64_t count, Datatype& oldtype, MPI_Datatype* newtype);
Error type_contiguous_c(int64_t count, Datatype& oldtype, MPI_Datatype* newtype);
Error type_vector(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype, MPI_Datatype* newtype);
Error type_vector_c(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype, MPI_Datatype* newtype);
Error type_create_hvector(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype, MPI_Datatype* newtype);
Error type_create_hvector_c(int64_t count, int64_t blocklength, int64_t stride, Datatype& oldtype,
                            MPI_Datatype* newtype);
Error type_indexed(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype, MPI_Datatype* newtype);
Error type_indexed_c(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype, MPI_Datatype* newtype);
Error type_create_hindexed(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype,
                           MPI_Datatype* newtype);
Error type_create_hindexed_c(int64_t count, Ints blocklengths, Ints displacements, Datatype& oldtype,
                             MPI_Datatype* newtype);
Error type_create_indexed_block(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                MPI_Datatype* newtype);
Error type_create_indexed_block_c(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                  MPI_Datatype* newtype);
Error type_create_hindexed_block(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                 MPI_Datatype* newtype);
Error type_create_hindexed_block_c(int64_t count, int64_t blocklength, Ints displacements, Datatype& oldtype,
                                   MPI_Datatype* newtype);
Error type_create_struct(int64_t count, Ints blocklengths, Ints displacements, const MPI_Datatype* types,
                         MPI_Datatype* newtype);
Error type_create_struct_c(int64_t count, Ints blocklengths, Ints displacements, const MPI_Datatype* types,
                           MPI_Datatype* newtype);
Error type_create_resized(Datatype& oldtype, int64_t lb, int64_t extent, MPI_Datatype* newtype);
Error type_create_resized_c(Datatype& oldtype, int64_t lb, int64_t extent, MPI_Datatype* newtype);
Error type_create_subarray(int64_t ndims, Ints sizes, Ints subsizes, Ints starts, int order, Datatype& oldtype,
                           MPI_Datatype* newtype);
Error type_create_subarray_c(int64_t ndims, Ints sizes, Ints subsizes, Ints starts, int order, Datatype& oldtype,
                             MPI_Datatype* newtype);
Error type_create_darray(int64_t size, int64_t rank, int64_t ndims, Ints gsizes, Ints distribs, Ints dargs, Ints psizes,
                         int order, Datatype& oldtype, MPI_Datatype* newtype);
Error type_create_darray_c(int64_t size, int64_t rank, int64_t ndims, Ints gsizes, Ints distribs, Ints dargs,
                           Ints psizes, int order, Datatype& oldtype, MPI_Datatype* newtype);
Error type_dup(Datatype& oldtype, MPI_Datatype* newtype);

// --- life (5.1.9)
Error type_commit(MPI_Datatype* datatype);
Error type_free(MPI_Datatype* datatype);

// --- questions (5.1.5 to 5.1.8, 5.1.13, 7.8)
Error type_size(const Datatype& datatype, int64_t& size);
Error type_get_extent(const Datatype& datatype, int64_t& lb, int64_t& extent);
Error type_get_true_extent(const Datatype& datatype, int64_t& true_lb, int64_t& true_extent);
Error type_get_envelope(const Datatype& datatype, int64_t& num_integers, int64_t& num_addresses, int64_t& num_datatypes,
                        int* combiner);
Error type_get_envelope_c(const Datatype& datatype, int64_t& num_integers, int64_t& num_addresses,
                          int64_t& num_large_counts, int64_t& num_datatypes, int* combiner);
Error type_get_contents(const Datatype& datatype, int64_t max_integers, int64_t max_addresses, int64_t max_datatypes,
                        int* integers, MPI_Aint* addresses, MPI_Datatype* datatypes);
Error type_get_contents_c(const Datatype& datatype, int64_t max_integers, int64_t max_addresses,
                          int64_t max_large_counts, int64_t max_datatypes, int* integers, MPI_Aint* addresses,
                          MPI_Count* large_counts, MPI_Datatype* datatypes);
Error type_set_name(Datatype& datatype, const char* type_name);
Error type_get_name(const Datatype* datatype, char* type_name, int* resultlen);

// --- types by property (6.9.4, 19.1.9)
Error type_get_value_index(const Datatype& value_type, const Datatype& index_type, MPI_Datatype* pair_type);
Error type_match_size(int typeclass, int size, MPI_Datatype* datatype);
Error type_create_f90_real(int p, int r, MPI_Datatype* newtype);
Error type_create_f90_complex(int p, int r, MPI_Datatype* newtype);
Error type_create_f90_integer(int r, MPI_Datatype* newtype);

// --- a status by a datatype (3.2.5, 5.1.11, 13.3)
Error get_count(const MPI_Status* status, const Datatype& datatype, int64_t& count);
Error get_elements(const MPI_Status* status, const Datatype& datatype, int64_t& count);
Error status_set_elements(MPI_Status* status, const Datatype& datatype, int64_t count);

// --- packing (5.2, 5.3)
Error pack(const void* inbuf, int64_t incount, const Datatype& datatype, void* outbuf, int64_t outsize,
           int64_t& position, const Comm& comm);
Error unpack(const void* inbuf, int64_t insize, int64_t& position, void* outbuf, int64_t outcount,
             const Datatype& datatype, const Comm& comm);
Error pack_size(int64_t incount, const Datatype& datatype, const Comm& comm, int64_t& size);
Error pack_external(const char* datarep, const void* inbuf, int64_t incount, const Datatype& datatype, void* outbuf,
                    int64_t outsize, int64_t& position);
Error unpack_external(const char* datarep, const void* inbuf, int64_t insize, int64_t& position, void* outbuf,
                      int64_t outcount, const Datatype& datatype);
Error pack_external_size(const char* datarep, int64_t incount, const Datatype& datatype, int64_t& size);

}  // namespace tutti::mpi
