#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the newest numpy (with its OpenBLAS) and MKL into a throw-away environment in the folder $1 and prints, a line
# each, the paths of their libraries: the peers of bench_gemm. Debian's OpenBLAS, where installed, comes first.
#     bench_gemm $(bench/peers.sh FOLDER | sed 's/^/--peer /')
set -e
folder=${1:?usage: peers.sh FOLDER}
[ -x "$folder/bin/pip" ] || python3 -m venv "$folder" >&2
"$folder/bin/pip" install -q --upgrade numpy mkl >&2 || echo "peers.sh: a package is missing" >&2
for library in /usr/lib/*/openblas-pthread/libopenblas.so.0 "$folder"/lib/python3*/site-packages/numpy.libs/libscipy_openblas*.so \
    "$folder"/lib/libmkl_rt.so.*; do
    if [ -e "$library" ]; then echo "$library"; fi
done
