#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD: the demo with an emulated machine among its routes, where the tools for one are installed. With opencl
# in SAMEBITS_REQUIRED it fails where no OpenCL device took its segments.
set -eu
cd "$(dirname "$0")/.."
build=$1
emulated=
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
    echo "building the command for aarch64 (for the emulated segment)" >&2
    test -f build-aarch64/build.ninja ||
        cmake -S . -B build-aarch64 -G Ninja --toolchain=cmake/aarch64.cmake -DSAMEBITS_STATIC=ON -DSAMEBITS_TESTS=OFF >/dev/null
    ninja -C build-aarch64 samebits_command >/dev/null
    emulated="--emulated qemu-aarch64:build-aarch64/samebits"
fi
rm -rf demo-out
# shellcheck disable=SC2086
"$build/samebits" demo --recipe recipes/demo.json --data data/kjv.txt --out demo-out $emulated
case " ${SAMEBITS_REQUIRED:-} " in
*" opencl "*)
    if grep "OpenCL device: none" demo-out/model-card.md >&2; then
        echo "opencl is required" >&2
        exit 1
    fi
    ;;
esac
