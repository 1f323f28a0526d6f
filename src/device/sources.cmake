# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/device/cpu_device.c src/device/device_open.c src/device/opencl_device.c
  src/device/opencl_program.c src/device/program_cache.c src/device/cuda_device.c src/device/device_probe.c)

# Code for GPUs in the library, so that NVIDIA's or AMD's driver alone is enough. Off unless asked for: it needs clang-19 and lld-19,
# half a minute of a core and twice the library's size (with ptxas at hand, for cubins too, two minutes and 18 MB more); without it
# their compilers at run time do the same.
option(SAMEBITS_GPU_CODE "PTX, cubins and AMD code objects in the library, by clang-19, lld-19 and, where it is, ptxas" OFF)
set(codes ${CMAKE_CURRENT_BINARY_DIR}/generated/codes.c)
if(SAMEBITS_GPU_CODE)
  find_program(CLANG_19 clang-19 REQUIRED)
  find_program(LLD_19 ld.lld-19 REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/generated)
  add_custom_command(OUTPUT ${codes} ${made}/codes_cuda.bin ${made}/codes_hip.bin VERBATIM COMMENT "The kernels' code for GPUs"
    DEPENDS ${made}/texts_cuda.c ${made}/texts_hip.c tools/gpu_code.py tools/audit.py
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tools/gpu_code.py ${CMAKE_CURRENT_BINARY_DIR}/kernels ${made})
  set_source_files_properties(${codes} PROPERTIES OBJECT_DEPENDS "${made}/codes_cuda.bin;${made}/codes_hip.bin")
else()
  file(CONFIGURE OUTPUT ${codes} CONTENT "#include \"gpu_code.h\"
const sbi_gpu_code sbi_codes_cuda[] = {{0}}, sbi_codes_hip[] = {{0}};
")
endif()
target_sources(samebits_objects PRIVATE ${codes})
