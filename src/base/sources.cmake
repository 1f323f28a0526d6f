# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/base/error.c src/base/memory.c src/base/spare.c src/base/sha256.c src/base/threads.c
  src/base/cpu.c src/base/cores.c src/base/fpenv.c src/base/file.c src/base/folder.c src/base/process.c src/base/module.c src/base/library.c)
if(SAMEBITS_STATIC)
  target_compile_definitions(samebits_objects PRIVATE SBI_STATIC)
endif()
