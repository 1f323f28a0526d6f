# SPDX-License-Identifier: Apache-2.0
# The oracle, and the glue that makes it a device (test/reference_device.c).
set(REFERENCE number ball function function64 log sum product element softmax norm rotary attention gather scan histogram sort random
  optimizer table)
list(TRANSFORM REFERENCE REPLACE "(.+)" "reference/ref_\\1.c")
add_library(reference_definitions OBJECT ${REFERENCE})
target_include_directories(reference_definitions PRIVATE include)
add_library(reference STATIC $<TARGET_OBJECTS:reference_definitions> test/reference_device.c)
target_include_directories(reference PUBLIC reference test)
foreach(room base kernels device array ops)
  target_include_directories(reference PRIVATE src/${room})
endforeach()
target_link_libraries(reference PUBLIC samebits)
