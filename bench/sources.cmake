# SPDX-License-Identifier: Apache-2.0
# The benches (bench.py runs them all).
if(NOT CMAKE_CROSSCOMPILING)
  add_executable(bench_gemm bench/bench_gemm.c)
  target_link_libraries(bench_gemm PRIVATE samebits m ${CMAKE_DL_LIBS})
  add_executable(bench_streams bench/bench_streams.c)
  target_link_libraries(bench_streams PRIVATE samebits Threads::Threads)
  add_executable(bench_gpu bench/bench_gpu.c)
  target_link_libraries(bench_gpu PRIVATE samebits)
  add_executable(bench_functions bench/bench_functions.c)
  target_link_libraries(bench_functions PRIVATE samebits m Threads::Threads ${CMAKE_DL_LIBS})
  add_executable(bench_device bench/bench_device.c)
  target_link_libraries(bench_device PRIVATE samebits)
endif()
