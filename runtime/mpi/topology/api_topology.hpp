// SPDX-License-Identifier: BSD-3-Clause
// Virtual topologies (the standard, chapter 8). Handles, counts and addresses of single results are
// checked before; arrays, ranks and dimensions here.
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"

namespace tutti::mpi::topology {

Error topo_test(Comm& comm, int* status);

Error dims_create(int nnodes, int ndims, int* dims);
Error cart_create(Comm& comm, int ndims, const int* dims, const int* periods, int reorder, MPI_Comm* comm_cart);
Error cart_sub(Comm& comm, const int* remain_dims, MPI_Comm* newcomm);
Error cart_map(Comm& comm, int ndims, const int* dims, const int* periods, int* newrank);
Error cartdim_get(Comm& comm, int* ndims);
Error cart_get(Comm& comm, int maxdims, int* dims, int* periods, int* coords);
Error cart_rank(Comm& comm, const int* coords, int* rank);
Error cart_coords(Comm& comm, int rank, int maxdims, int* coords);
Error cart_shift(Comm& comm, int direction, int disp, int* rank_source, int* rank_dest);

Error graph_create(Comm& comm, int nnodes, const int* index, const int* edges, int reorder, MPI_Comm* comm_graph);
Error graph_map(Comm& comm, int nnodes, const int* index, const int* edges, int* newrank);
Error graphdims_get(Comm& comm, int* nnodes, int* nedges);
Error graph_get(Comm& comm, int maxindex, int maxedges, int* index, int* edges);
Error graph_neighbors_count(Comm& comm, int rank, int* nneighbors);
Error graph_neighbors(Comm& comm, int rank, int maxneighbors, int* neighbors);

Error dist_graph_create(Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                        const int* weights, Info* info, int reorder, MPI_Comm* comm_dist_graph);
Error dist_graph_create_adjacent(Comm& comm, int indegree, const int* sources, const int* sourceweights, int outdegree,
                                 const int* destinations, const int* destweights, Info* info, int reorder,
                                 MPI_Comm* comm_dist_graph);
Error dist_graph_neighbors_count(Comm& comm, int* indegree, int* outdegree, int* weighted);
Error dist_graph_neighbors(Comm& comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                           int* destinations, int* destweights);

}  // namespace tutti::mpi::topology
