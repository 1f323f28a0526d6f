# SPDX-License-Identifier: Apache-2.0
set(PROOF lanes fixture evidence compare verify lanes_gemm lanes_attention lanes_reduce lanes_element lanes_function
  lanes_softmax lanes_norm lanes_rotary lanes_embedding lanes_sort lanes_random lanes_optimizer lanes_model)
foreach(name IN LISTS PROOF)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/proof/${name}.c) # (until all have landed)
    target_sources(samebits_objects PRIVATE src/proof/${name}.c)
  endif()
endforeach()
