# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/io/json.c src/io/trace_file.c src/io/real.c src/io/safetensors.c src/io/npy.c src/io/npz.c src/io/inflate.c src/io/lines.c src/io/csv.c src/io/svmlight.c)
