#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh [PACKAGE ...]: installs what building and testing need on Debian 12, and the packages named: by apt as root;
# otherwise prints the line to run.
packages="git python3-venv gcc g++ clang clang-19 lld-19 libclang-rt-14-dev clang-format cmake ninja-build python3 libmpfr-dev libgmp-dev libssl-dev libgomp1 binutils
qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm pkg-config
pocl-opencl-icd mesa-opencl-icd ocl-icd-libopencl1 oclgrind $*"
missing=
for package in $packages; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) || status=
    case "$status" in "install ok installed") ;; *) missing="$missing $package" ;; esac
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "installing:$missing" >&2
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >&2
else
    echo "samebits needs these packages; run:" >&2
    echo "    sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
