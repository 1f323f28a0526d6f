#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operations of bench_gpu by PyTorch in float32 with TF32 off (products: cuBLAS, or AMD's), on the device it calls cuda:N. Prints lines
"name<tab>seconds" for bench_gpu --peer. gpu_peer.py [N]"""
import statistics
import sys
import time

import torch

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.set_float32_matmul_precision("highest")
DEVICE = torch.device(f"cuda:{sys.argv[1] if len(sys.argv) > 1 else 0}")


def measure(name, call):
    """The median of five rounds, each of as many calls as take a tenth of a second."""
    def timed(calls):
        torch.cuda.synchronize(DEVICE)
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize(DEVICE)
        return (time.perf_counter() - start) / calls
    timed(3)
    calls = 1 + int(0.1 / (timed(1) + 1e-6))
    print(f"{name}\t{statistics.median(timed(calls) for _ in range(5)):.9g}", flush=True)


def drawn(*shape):
    return torch.rand(*shape, device=DEVICE) * 4 - 2


n, d = 32768, 4096
x, y, out, weight = drawn(n, d), drawn(n, d), torch.empty(n, d, device=DEVICE), drawn(d)
for name, call in (("copy", lambda: out.copy_(x)), ("scale", lambda: torch.mul(x, 1.25, out=out)), ("add", lambda: torch.add(x, y, out=out)),
                   ("sum of rows", lambda: x.sum(1)), ("exp", lambda: torch.exp(x, out=out)), ("softmax", lambda: torch.softmax(x, 1)),
                   ("rms norm", lambda: torch.nn.functional.rms_norm(x, (d,), weight, 1e-5)), ("swiglu", lambda: torch.nn.functional.silu(x) * y)):
    measure(f"{name} {n}x{d}", call)
del x, y, out
for n in (1024, 2048, 4096, 8192):
    a, b, c = drawn(n, n), drawn(n, n), torch.empty(n, n, device=DEVICE)
    measure(f"gemm {n}", lambda: torch.mm(a, b, out=c))
q, k, v = (drawn(1, 32, 4096, 128) for _ in range(3))
measure("attention 4096x32x128", lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
