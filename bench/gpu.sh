#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu.sh [--device D] [--build B] [--peak GFLOPS] [--out FOLDER] [--smoke]: everything there is to measure on one GPU, in one run: products of
# 1,024 to 8,192, attention, what memory bounds, the training step of recipes/step.json (20.45 M parameters), each beside its floor and,
# where this Python has PyTorch with a GPU, beside that (float32, TF32 off). First the device must compute as the contract says: its
# evidence document is written too. --smoke: small sizes, products and three streams, no training (for PoCL). bench/README.md reads it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
device=cuda:0 build=$here/../build peak=0 out=gpu-report smoke=
while [ $# -gt 0 ]; do
    case "$1" in
    --device) device=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --peak) peak=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --smoke) smoke=1; shift ;;
    *) echo "usage: gpu.sh [--device D] [--build B] [--peak GFLOPS] [--out FOLDER] [--smoke]" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
if [ -n "$smoke" ]; then
    "$build/samebits" verify --device "$device" --lanes scale --quiet --date --json-out "$out/evidence.json"
    exec "$build/bench_gpu" --device "$device" --small --only "gemm scale add sum" --peak "$peak" --json "$out/kernels.json"
fi
"$build/samebits" verify --all --device "$device" --quiet --date --json-out "$out/evidence.json"
set -- --device "$device" --peak "$peak" --json "$out/kernels.json"
number=${device#*:}
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null && [ "${device%%:*}" != opencl ]; then
    python3 "$here/gpu_peer.py" "$number" >"$out/peer.tsv"
    set -- "$@" --peer "$out/peer.tsv"
    trained="--peer-device cuda:$number"
else
    echo "(no PyTorch with a GPU here: nothing stands beside)" >&2
    trained=--alone
fi
"$build/bench_gpu" "$@"
# shellcheck disable=SC2086
python3 "$here/bench_train.py" --build "$build" --device "$device" --recipe "$here/../recipes/step.json" --steps 6 --forward 0 $trained --json "$out/step.json"
