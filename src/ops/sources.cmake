# SPDX-License-Identifier: Apache-2.0
set(OPS run op_gemm op_attention op_reduce op_element op_function op_softmax op_norm op_rotary rotary_frequency op_embedding
  op_sort op_random op_optimizer)
include(cmake/absent.cmake) # (until all have landed)
foreach(name IN LISTS OPS)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/ops/${name}.c) # (until all have landed)
    target_sources(samebits_objects PRIVATE src/ops/${name}.c)
  endif()
endforeach()
