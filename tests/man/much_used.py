# SPDX-License-Identifier: BSD-3-Clause
"""Holds that the page of each function that programs use much has an example: that one calls the function, and that
all examples run, man.functions and man.example.* hold."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "man"))
import texts  # noqa: E402

MUCH_USED = {
    "": "Init Init_thread Initialized Finalize Finalized Abort Query_thread Is_thread_main Get_version "
        "Get_library_version Get_processor_name Wtime Wtick Alloc_mem Free_mem Error_class Error_string "
        "Errhandler_free Add_error_class Add_error_code Add_error_string Get_address Get_count Get_elements "
        "Send Ssend Bsend Rsend Isend Issend Ibsend Irsend Recv Irecv Sendrecv Sendrecv_replace Probe Iprobe Mprobe "
        "Improbe Mrecv Imrecv Buffer_attach Buffer_detach Wait Waitall Waitany Waitsome Test Testall Testany Testsome "
        "Cancel Test_cancelled Start Startall Send_init Recv_init Grequest_start Grequest_complete "
        "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce "
        "Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Reduce_local Ibarrier Ibcast Igather Igatherv "
        "Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ireduce Iallreduce Iscan Iexscan "
        "Allreduce_init Bcast_init Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv "
        "Dims_create Graph_create Graph_neighbors Dist_graph_create Dist_graph_create_adjacent Dist_graph_neighbors "
        "Topo_test Intercomm_create Intercomm_merge Pack Unpack Pack_size Psend_init Precv_init Pready Parrived "
        "Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget "
        "Open_port Close_port Publish_name Lookup_name",
    "Comm_": "size rank dup split split_type create create_group free group compare test_inter remote_size "
             "remote_group set_name get_name set_errhandler get_errhandler create_errhandler create_keyval free_keyval "
             "set_attr get_attr delete_attr spawn spawn_multiple get_parent accept connect disconnect c2f f2c",
    "Group_": "size rank incl excl union intersection difference range_incl range_excl translate_ranks compare free",
    "Cart_": "create coords rank shift sub get",
    "Type_": "contiguous vector create_hvector indexed create_hindexed create_indexed_block create_struct "
             "create_subarray create_darray create_resized dup commit free size get_extent get_true_extent "
             "get_envelope get_contents",
    "Op_": "create free",
    "Request_": "free get_status",
    "Info_": "create free set get get_string get_nkeys get_nthkey dup delete",
    "Win_": "create allocate allocate_shared shared_query create_dynamic attach detach free fence lock unlock lock_all "
            "unlock_all flush flush_all flush_local sync post start complete wait get_attr",
    "File_": "open close delete read write read_all write_all read_at write_at read_at_all write_at_all iread iwrite "
             "iread_at iwrite_at iread_all iwrite_all read_shared write_shared read_ordered write_ordered seek "
             "get_position get_size set_size preallocate set_view get_view sync get_info set_atomicity set_errhandler",
    "Session_": "init finalize get_num_psets get_nth_pset",
}

pages, _ = texts.pages()
names = [f"MPI_{group}{name}" for group, of_group in MUCH_USED.items() for name in of_group.split()]
wrong = [f"there is no page of {name}" for name in names if name not in pages]
wrong += [f"the page of {name} has no example" for name in names if name in pages and not pages[name].one("example")]
print("\n".join(wrong) or f"{len(names)} functions that programs use much have an example, of "
                          f"{sum(bool(page.one('example')) for page in pages.values())} that have one")
sys.exit(bool(wrong))
