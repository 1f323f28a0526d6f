#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A preprocessed kernel text (stdin) for languages of C++ without binary64 (stdout): C++ for OpenCL.

Constants K(0x1.8p52) become their bits. The operands of `?:` become values by name, SBI_VALUE(x): C++ for OpenCL does not choose
between a place of a class (which has an address space) and a value of it.
"""
import re
import struct
import sys

TOKEN = re.compile(r"[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|\s+|#[^\n]*|\"[^\"]*\"|.", re.S)


def constant(match):
    value = float.fromhex(match[1]) if "x" in match[1] else float(match[1])
    return "FLOAT64(0x%016xu)" % struct.unpack("<Q", struct.pack("<d", value))


def values(text):
    """`c ? a : b` becomes `c ? SBI_VALUE(a) : SBI_VALUE(b)`."""
    out, open_ = [], []  # of the brackets and conditionals that are open: "(", "?" before its colon, ":" after
    for token in TOKEN.findall(text):
        while open_ and open_[-1] == ":" and token in (",", ";", ")", "]", "}", ":"):
            open_.pop()
            out.append(")")
        if token in ("(", "[", "{"):
            open_.append("(")
        elif token in (")", "]", "}"):
            open_.pop()
        elif token == "?":
            open_.append("?")
            token = "? SBI_VALUE("
        elif token == ":" and open_ and open_[-1] == "?":
            open_[-1] = ":"
            token = ") : SBI_VALUE("
        out.append(token)
    return "".join(out)


if __name__ == "__main__":
    sys.stdout.write(values(re.sub(r"\bK\(([-+0-9a-fxp.]+)\)", constant, sys.stdin.read())))
