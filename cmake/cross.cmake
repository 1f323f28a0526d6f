# SPDX-License-Identifier: Apache-2.0
# A cross build for SBI_CROSS with Debian's gcc, run under qemu-user; included by the toolchain files (aarch64.cmake ...).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${SBI_CROSS})
set(CMAKE_C_COMPILER ${SBI_CROSS}-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${SBI_CROSS};-L;/usr/${SBI_CROSS}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH /usr/${SBI_CROSS}-linux-gnu)
