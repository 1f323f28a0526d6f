# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/array/array.c src/array/context.c src/array/digest.c src/array/trace.c)
