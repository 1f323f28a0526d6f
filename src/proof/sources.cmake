# SPDX-License-Identifier: Apache-2.0
set(PROOF lanes fixture report verify evidence record recording_file replay replay_page compare bisect describe_library selftest probe doctor file_digest lanes_gemm lanes_attention
  lanes_reduce lanes_element lanes_function lanes_softmax lanes_norm lanes_rotary lanes_embedding lanes_scan lanes_histogram lanes_sort lanes_random
  lanes_optimizer lanes_linalg lanes_table lanes_estimators lanes_metrics lanes_model)
list(TRANSFORM PROOF REPLACE "(.+)" "src/proof/\\1.c")
target_sources(samebits_objects PRIVATE ${PROOF})
