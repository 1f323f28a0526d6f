# SPDX-License-Identifier: Apache-2.0
foreach(name run trace_line op_gemm op_attention op_reduce op_element op_function op_softmax op_norm op_rotary rotary_frequency
        op_gather op_scatter op_scan op_histogram op_sort op_random op_optimizer op_columns op_distance op_neighbors near_tree near_search near_groups)
  target_sources(samebits_objects PRIVATE src/ops/${name}.c)
endforeach()
