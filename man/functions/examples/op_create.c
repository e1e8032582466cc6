/* SPDX-License-Identifier: BSD-3-Clause */
/* An operation of the program's own: the product of complex numbers, kept as pairs. */
#include <mpi.h>
#include <stdio.h>

typedef struct {
  double re, im;
} Complex;

static void multiply(void *in, void *inout, int *count,
                     MPI_Datatype *type) {
  (void)type;
  Complex *a = in, *b = inout;
  for (int i = 0; i < *count; i++) {
    Complex product = {a[i].re * b[i].re - a[i].im * b[i].im,
                       a[i].re * b[i].im + a[i].im * b[i].re};
    b[i] = product;
  }
}

int main(void) {
  int rank;
  Complex mine = {0, 1}, product;
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(multiply, 1, &op);
  MPI_Reduce(&mine, &product, 1, pair, op, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("i to the third: %g%+gi\n", product.re, product.im);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   i to the third: -0-1i */
