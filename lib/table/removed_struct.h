/* MPI_LB and MPI_UB each set one bound of a type, which stays set in all types built from it, while
 * MPI_Type_create_resized sets both. So a type of which one bound was set is resized twice: within, to
 * an extent of 0 at the bound that was set, around a type whose other bound is that of its data. From
 * this MPI_Type_struct knows it again; below another constructor both bounds count as set. */
enum { MPI_ABI_BOTH, MPI_ABI_LOWER, MPI_ABI_UPPER };

static MPI_ABI_INLINE void MPI_ABI_release(MPI_Datatype *type) {
  MPI_Count integers, addresses, counts, types;
  int combiner;
  if (PMPI_Type_get_envelope_c(*type, &integers, &addresses, &counts, &types, &combiner) == MPI_SUCCESS &&
      combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
      combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER)
    PMPI_Type_free(type);
}

/* Whether the type was made by MPI_Type_create_resized; then with what, in `bounds`, from which type. */
static MPI_ABI_INLINE int MPI_ABI_resized(MPI_Datatype type, MPI_Aint bounds[2], MPI_Datatype *within) {
  MPI_Count integers, addresses, counts, types;
  int combiner, none[1];
  return PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner) == MPI_SUCCESS &&
         combiner == MPI_COMBINER_RESIZED && counts == 0 &&
         PMPI_Type_get_contents(type, 0, 2, 1, none, bounds, within) == MPI_SUCCESS;
}

/* Which bound alone was set; then `bare` is the type without it, for the caller to free. */
static MPI_ABI_INLINE int MPI_ABI_side(MPI_Datatype type, MPI_Datatype *bare) {
  MPI_Aint outer[2], inner[2];
  MPI_Datatype middle;
  int side = MPI_ABI_BOTH;
  if (!MPI_ABI_resized(type, outer, &middle)) return side;
  if (MPI_ABI_resized(middle, inner, bare)) {
    if (inner[1] == 0 && inner[0] == outer[0] + outer[1])
      side = MPI_ABI_UPPER;
    else if (inner[1] == 0 && inner[0] == outer[0])
      side = MPI_ABI_LOWER;
    if (side == MPI_ABI_BOTH) MPI_ABI_release(bare);
  }
  MPI_ABI_release(&middle);
  return side;
}

static MPI_ABI_INLINE int MPI_ABI_has_bounds(int count, const int *lengths, const MPI_Aint *displacements,
                                             const MPI_Datatype *types) {
  MPI_Datatype bare;
  int i;
  if (!lengths || !displacements || !types) return 0;
  for (i = 0; i < count; i++) {
    if (types[i] == MPI_LB || types[i] == MPI_UB) return 1;
    if (types[i] == MPI_DATATYPE_NULL) continue;
    if (MPI_ABI_side(types[i], &bare) != MPI_ABI_BOTH) {
      MPI_ABI_release(&bare);
      return 1;
    }
  }
  return 0;
}

/* The structure whose bound on one side is what it shall be; that on the other side may not be. Says
 * whether this bound was set, by an entry or in a part. */
static MPI_ABI_INLINE int MPI_ABI_struct_of_side(int side, int count, const int *lengths,
                                                 const MPI_Aint *displacements, const MPI_Datatype *types,
                                                 int *is_set, MPI_Datatype *newtype) {
  const size_t room = (size_t)count;
  int *const all_lengths = (int *)calloc(room, sizeof(int));
  MPI_Aint *const all_displacements = (MPI_Aint *)calloc(room, sizeof(MPI_Aint));
  MPI_Datatype *const all_types = (MPI_Datatype *)calloc(room, sizeof(MPI_Datatype));
  MPI_Datatype *const made = (MPI_Datatype *)malloc(room * sizeof(MPI_Datatype));
  MPI_Datatype bare;
  MPI_Aint lb, extent;
  int code = MPI_SUCCESS, i, entries = 0, makes = 0, part;
  *is_set = 0;
  if (!all_lengths || !all_displacements || !all_types || !made) code = MPI_ERR_NO_MEM;
  for (i = 0; i < count && code == MPI_SUCCESS; i++) {
    all_lengths[entries] = lengths[i];
    all_displacements[entries] = displacements[i];
    all_types[entries] = types[i];
    if (types[i] == MPI_LB || types[i] == MPI_UB) {
      if (types[i] != (side == MPI_ABI_LOWER ? MPI_LB : MPI_UB)) continue;
      if (lengths[i] > 0) *is_set = 1;
      code = PMPI_Type_contiguous(0, MPI_BYTE, &bare);
      if (code != MPI_SUCCESS) break;
      code = PMPI_Type_create_resized(bare, 0, 0, &made[makes]);
      PMPI_Type_free(&bare);
      if (code != MPI_SUCCESS) break;
      all_types[entries] = made[makes++];
    } else if (lengths[i] > 0 && types[i] != MPI_DATATYPE_NULL) {
      part = MPI_ABI_side(types[i], &bare);
      if (part == side) *is_set = 1;
      if (part != MPI_ABI_BOTH && part != side) {
        code = PMPI_Type_get_extent(types[i], &lb, &extent);
        if (code == MPI_SUCCESS)
          code = PMPI_Type_create_hvector(lengths[i], 1, extent, bare, &made[makes]);
        if (code == MPI_SUCCESS) {
          all_lengths[entries] = 1;
          all_types[entries] = made[makes++];
        }
      }
      if (part != MPI_ABI_BOTH) MPI_ABI_release(&bare);
    }
    entries++;
  }
  if (code == MPI_SUCCESS)
    code = PMPI_Type_create_struct(entries, all_lengths, all_displacements, all_types, newtype);
  while (makes > 0) PMPI_Type_free(&made[--makes]);
  free(all_lengths);
  free(all_displacements);
  free(all_types);
  free(made);
  return code;
}

static MPI_ABI_INLINE int MPI_ABI_struct(int count, const int *lengths, const MPI_Aint *displacements,
                                         const MPI_Datatype *types, MPI_Datatype *newtype) {
  MPI_Datatype low, high, middle;
  MPI_Aint lb, ub, extent;
  int code, low_is_set, high_is_set;
  code = MPI_ABI_struct_of_side(MPI_ABI_LOWER, count, lengths, displacements, types, &low_is_set, &low);
  if (code != MPI_SUCCESS) return code;
  code = MPI_ABI_struct_of_side(MPI_ABI_UPPER, count, lengths, displacements, types, &high_is_set, &high);
  if (code == MPI_SUCCESS) {
    code = PMPI_Type_get_extent(high, &lb, &extent);
    ub = lb + extent;
    if (code == MPI_SUCCESS) code = PMPI_Type_get_extent(low, &lb, &extent);
    if (code == MPI_SUCCESS && !low_is_set && !high_is_set) {
      PMPI_Type_free(&high);
      *newtype = low;
      return code;
    }
    if (code == MPI_SUCCESS && low_is_set && high_is_set) {
      code = PMPI_Type_create_resized(low, lb, ub - lb, newtype);
    } else if (code == MPI_SUCCESS) {
      code = PMPI_Type_create_resized(high_is_set ? low : high, high_is_set ? ub : lb, 0, &middle);
      if (code == MPI_SUCCESS) {
        code = PMPI_Type_create_resized(middle, lb, ub - lb, newtype);
        PMPI_Type_free(&middle);
      }
    }
    PMPI_Type_free(&high);
  }
  PMPI_Type_free(&low);
  return code;
}
