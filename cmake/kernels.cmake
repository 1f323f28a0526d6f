# SPDX-License-Identifier: Apache-2.0
# The kernel text as C, once per CPU level. sbi_add_level(v3 "TARGETS" flags...) compiles every kernel file with the flags
# and adds the objects to the libraries TARGETS (a list).
set(SBI_KERNEL_FILES attention attention_tile columns digest distance elementwise function function64 gather gemm histogram loss neighbors norm optimizer probe probe_single random reduce rotary scan softmax sort)
set(SBI_KERNEL_DIR ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels)

function(sbi_add_level level targets)
  set(sources ${SBI_KERNEL_DIR}/level_table.c)
  foreach(file IN LISTS SBI_KERNEL_FILES)
    set(stub ${CMAKE_CURRENT_BINARY_DIR}/stubs/${file}_${level}.c)
    file(CONFIGURE OUTPUT ${stub} CONTENT
      "#define SBI_TEXT \"${file}.cl\"\n#define SBI_ROWS \"${file}.def\"\n#include \"cpu_stub.h\"\n")
    set_source_files_properties(${stub} PROPERTIES
      OBJECT_DEPENDS "${SBI_KERNEL_DIR}/${file}.cl;${SBI_KERNEL_DIR}/${file}.def;${SBI_KERNEL_DIR}/cpu_stub.h")
    list(APPEND sources ${stub})
  endforeach()
  if("-DSBI_TUNED" IN_LIST ARGN)
    foreach(type IN ITEMS f32 f64 wide)
      list(APPEND sources ${SBI_KERNEL_DIR}/tuned/gemm_tuned_${type}.c ${SBI_KERNEL_DIR}/tuned/gemv_tuned_${type}.c)
    endforeach()
    list(APPEND sources ${SBI_KERNEL_DIR}/tuned/nearest_few_tuned_f32.c ${SBI_KERNEL_DIR}/tuned/nearest_few_tuned_f64.c)
    if("undefined" IN_LIST SANITIZERS AND NOT "fuzzer" IN_LIST SANITIZERS)
      # Unrolled, a file of these takes clang a minute to watch for signed overflow; as it stands, a third of a second.
      file(GLOB tuned ${SBI_KERNEL_DIR}/tuned/*.c)
      set_source_files_properties(${tuned} PROPERTIES COMPILE_OPTIONS "-O0")
    endif()
  endif()
  add_library(kernels_${level} OBJECT ${sources})
  if("-DSBI_F64_CLASS" IN_LIST ARGN) # the flags say which C++: what is for C alone goes
    get_target_property(options kernels_${level} COMPILE_OPTIONS)
    list(REMOVE_ITEM options -Wstrict-prototypes)
    set_target_properties(kernels_${level} PROPERTIES COMPILE_OPTIONS "${options}" C_EXTENSIONS ON)
    set_property(TARGET kernels_${level} PROPERTY C_STANDARD)
  endif()
  target_include_directories(kernels_${level} PRIVATE ${SBI_KERNEL_DIR})
  target_compile_definitions(kernels_${level} PRIVATE SBI_LEVEL=${level})
  target_compile_options(kernels_${level} PRIVATE -Wno-unused-function ${SBI_SMALL_FRAMES}
    $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed> ${ARGN}) # (clang warns of phases it leaves scalar)
  if("fuzzer" IN_LIST SANITIZERS) # fuzzers are after parsers
    target_compile_options(kernels_${level} PRIVATE -fno-sanitize=all)
  endif()
  foreach(one IN LISTS targets) # (objects of an object library do not pass through another)
    target_sources(${one} PRIVATE $<TARGET_OBJECTS:kernels_${level}>)
  endforeach()
endfunction()

# sbi_embed_kernels(opencl TARGET [OFFSETS ON [FILE]]): the texts (all, or one) in the dialect src/kernels/dialect/opencl.h, as sbi_texts_opencl in
# TARGET; and as files build/kernels/X.opencl. See embed_kernels.cmake.
function(sbi_embed_kernels dialect target)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/texts_${dialect}.c)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_kernels.cmake)
  set(files ${SBI_KERNEL_FILES})
  if(ARGC GREATER 4)
    set(files ${ARGV4})
  endif()
  file(GLOB texts CONFIGURE_DEPENDS ${SBI_KERNEL_DIR}/*.cl ${SBI_KERNEL_DIR}/*.h ${SBI_KERNEL_DIR}/dialect/*.h)
  add_custom_command(OUTPUT ${out} DEPENDS ${texts} ${script} VERBATIM COMMENT "The kernel texts in ${dialect}"
    COMMAND ${CMAKE_COMMAND} -DCC=${CMAKE_C_COMPILER} -DKERNELS=${SBI_KERNEL_DIR} -DDIALECT=${dialect} "-DFILES=${files}"
      -DOFFSETS=${ARGV3} -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/kernels -DOUT=${out} -P ${script})
  target_sources(${target} PRIVATE ${out})
endfunction()
