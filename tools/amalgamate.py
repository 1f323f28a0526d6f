#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as one file: amalgamate.py OUT_FOLDER [--root ROOT] [--commit C] writes samebits.c and samebits.h.

    cc -std=c17 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -pthread -c samebits.c

The host's files stand in it one after another, each header once; names that two files use for things of their own get the
file's name. The kernel texts stand in it once a CPU level, under pragmas that give the functions between them the level's
instructions; every name in them gets the level's name. With -DSAMEBITS_NO_THREADS and -DSAMEBITS_NO_FILES it needs neither
(src/base/no_threads.c, no_files.c), which is what a bare core has."""
import argparse
import pathlib
import re
import subprocess
import sys

# Levels: where they are compiled, the macros of their text, the instructions (gcc's names; clang's where they differ).
X86_V3 = "sse3,ssse3,sse4.1,sse4.2,popcnt,cx16,sahf,avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave"
X86_V4 = X86_V3 + ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
LEVELS = {
    "plain": (None, (), None),
    "v1": ("__x86_64__", (), None),
    "v3": ("__x86_64__", ("SBI_TUNED", "__FMA__", "__AVX2__"), (X86_V3, X86_V3)),
    "v4": ("__x86_64__", ("SBI_TUNED", "__FMA__", "__AVX2__", "__AVX512F__"), (X86_V4 + ",prefer-vector-width=512", X86_V4)),
    "neon": ("__aarch64__", ("SBI_TUNED",), None),
}
LIBRARY = {"raise"}  # names of a file's own that are also functions of the C library
CONDITIONS = {**dict.fromkeys(("file", "folder", "process", "module", "cores"), "#ifndef SAMEBITS_NO_FILES"),
              "no_files": "#ifdef SAMEBITS_NO_FILES", "threads": "#ifndef SAMEBITS_NO_THREADS", "no_threads": "#ifdef SAMEBITS_NO_THREADS"}
DRIVERS = {"library.c", "opencl_device.c", "opencl_program.c", "program_cache.c", "cuda_device.c"}  # no_drivers.c stands for them
ELSEWHERE = {"samebits.h", "samebits_commit.h"}  # the one stands beside, the other's word at the top
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|->|##|\s+|.',
                   re.S)
WORD = re.compile(r"[A-Za-z_]\w*$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|(SBI_TEXT|SBI_ROWS))[^\n]*\n', re.M)
KEYWORDS = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool
    _Alignas _Alignof _Static_assert _Pragma""".split())


def tokens(text):
    return TOKEN.findall(text)


def is_word(token):
    return bool(WORD.match(token))


# ---- the host: names of a file's own


def own_names(text):
    """The names that a file declares at its outermost level: static functions and variables, types, tags, constants."""
    names, depth, statement = set(), 0, []
    directives = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*\n", "\n", text, flags=re.M)
    body = [t for t in tokens(directives) if not t.isspace() and not t.startswith(("//", "/*"))]
    enum = False
    for i, token in enumerate(body):
        if token == "{":
            if depth == 0:
                enum = "enum" in statement
                names |= declared(statement)
            depth += 1
            if enum and depth == 1 and is_word(body[i + 1]):
                names.add(body[i + 1])
        elif token == "}":
            depth -= 1
            if depth == 0:
                statement = statement + ["{}"]
                follows = body[i + 1] if i + 1 < len(body) else ""
                if "(" in statement and "=" not in statement and "typedef" not in statement and follows != ";":
                    statement = []  # a function's end
        elif depth == 1 and enum and token == "," and is_word(body[i + 1]):
            names.add(body[i + 1])
        elif depth == 0:
            if token == ";":
                names |= declared(statement)
                statement = []
            else:
                statement.append(token)
    return names


def declared(statement):
    names = set()
    for tag in ("struct", "union", "enum"):
        for i, token in enumerate(statement[:-1]):
            if token == tag and is_word(statement[i + 1]) and not statement[i + 1].startswith(("sb_", "sbi_")):
                names.add(statement[i + 1])
    if "typedef" in statement:
        pointer = [statement[i + 2] for i in range(len(statement) - 2) if statement[i] == "(" and statement[i + 1] == "*"]
        words = [t for t in statement[:statement.index("(") if "(" in statement and not pointer else None] if is_word(t)]
        names.add(pointer[0] if pointer else words[-1])
    elif "static" in statement and "_Static_assert" not in statement:
        level, last = 0, None
        for token in statement:  # the word before the first bracket, "=" or ","
            if token == "(" and last == "__attribute__":
                level += 1
            elif level:
                level += {"(": 1, ")": -1}.get(token, 0)
            elif token in ("(", "[", "=", ",") and last:
                names.add(last)
                if token != ",":
                    return names
            elif is_word(token):
                last = token
        if last:
            names.add(last)
    return names


def rename(text, names):
    """Every use of the names: not what follows . or ->, not the members that a struct declares."""
    out, before, structs, depth, pending = [], "", [], 0, False
    stream = tokens(text)
    for i, token in enumerate(stream):
        if token.isspace() or token.startswith(("//", "/*")):
            out.append(token)
            continue
        if token in ("struct", "union"):
            pending = True
        elif token == "{":
            depth += 1
            if pending:
                structs.append(depth)
            pending = False
        elif token == "}":
            if structs and structs[-1] == depth:
                structs.pop()
            depth -= 1
        elif token in (";", ")", "=", "("):
            pending = False
        if token in names and before not in (".", "->"):
            # (what follows ? is a use, in the length of a member, too)
            after = next((t for t in stream[i + 1:] if not t.isspace()), "")
            if not (structs and structs[-1] == depth and before != "?" and after in (";", ",", "[", ":", ")")):
                token = names[token]
        out.append(token)
        before = token
    return "".join(out)


def macros(text):
    return sorted(set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M)))


# ---- the kernels: every name gets the level's

# What is the compiler's, the C library's or the host's; the types of the dialect and the kinds of .def rows, which are the
# same at every level; and words of one small letter, which are nobody's outermost names.
FOREIGN = re.compile(r"^(__(?!FMA__|AVX2__|AVX512F__)\w+|_mm\w*|_CMP_\w+|u?int\d+_t|size_t|ptrdiff_t|uintptr_t|NULL|float\d+x\d+_t|v\w+_[fsu]\d+|"
                     r"sbi_arg|sbi_kernel_table|SBI_ID_\w+|SBI_KERNEL_COUNT|sbi_kernels|defined|noinline|always_inline|cold|unused|vector_size|aligned|"
                     r"c?[fiu](8|32|64)p?|[a-z])$")


def with_level(text, level, stem=None):
    """stem: a tuned file, whose names other than kernels are its own within the level."""
    out = []
    for line in re.split(r"(?<=\n)", text):
        directive = re.match(r"[ \t]*#[ \t]*(\w+)", line)
        if directive and directive.group(1) in ("pragma", "include"):
            out.append(line)
            continue
        before, words = "", 0
        for token in tokens(line):
            words += is_word(token)
            skip = (directive and words == 1) or token in KEYWORDS or FOREIGN.match(token) or (before == "." and token in ("in", "out")) \
                or (before == "##" and token[0] == "_")
            own = stem and token != "SBI_LEVEL" and not token.startswith(("k_", "__"))
            out.append(token if skip or not is_word(token) else f"{level}_{stem}_{token}" if own else f"{level}_{token}")
            if not token.isspace():
                before = token
    return "".join(out)


class Amalgam:
    def __init__(self, root):
        self.root, self.src = root, root / "src"
        self.paths = {p.name: p for p in self.src.rglob("*") if p.suffix in (".c", ".h", ".cl", ".def")}
        self.seen = set()  # headers of the host that stand already

    def read(self, name):
        return self.paths[name.split("/")[-1]].read_text(encoding="utf-8").replace("// SPDX-License-Identifier: Apache-2.0\n", "", 1)

    def guarded(self, name):
        return re.search(r"^#ifndef SBI_\w+_H\n#define", self.read(name), re.M)

    def expand(self, text, seen, texts=None):
        """Puts files in place of includes; one with a guard only where it is not in `seen` yet."""
        def put(match):
            name = (match.group(1) or texts[match.group(2)]).split("/")[-1]
            if name in ELSEWHERE or name in seen:
                return ""
            if self.guarded(name):
                seen.add(name)
            return f"\n{self.expand(self.read(name), seen, texts)}\n"
        return INCLUDE.sub(put, text)

    def host_files(self):
        files, rooms = [], (self.root / "CMakeLists.txt").read_text(encoding="utf-8")
        for room in re.search(r"set\(ROOMS ([^)]*)\)", rooms).group(1).split():
            listed = re.sub(r"#[^\n]*", "", (self.src / room / "sources.cmake").read_text(encoding="utf-8"))
            names = {p.name for p in (self.src / room).rglob("*.c")}
            words = {word.split("/")[-1] for word in re.findall(r"[\w./]+", listed)}  # (names are unique in the tree)
            files += sorted(n for n in names if n[:-2] in words or n in words)
        return files

    def host(self):
        files = [f for f in self.host_files() if f not in DRIVERS] + ["no_files.c", "no_threads.c", "no_drivers.c"]
        texts = {name: self.expand_headers(name) for name in files}
        count = {}
        for name in files:
            for own in own_names(texts[name][1]):
                count.setdefault(own, []).append(name)
        parts = []
        for name in files:
            headers, body = texts[name]
            stem = name[:-2]
            own = {n: f"{stem}_{n}" for n, where in count.items() if name in where and (len(where) > 1 or n in LIBRARY)}
            for start in set(re.findall(r"\b(?!sbi?_)([a-z]\w*_)##", body)):  # names of its own that macros make
                own |= {n: f"{stem}_{n}" for n in re.findall(rf"\b{start}\w*", body)}
            body = rename(body, own)
            undefine = "".join(f"#undef {m}\n" for m in macros(body) if m != "_GNU_SOURCE")
            part = f"\n// ======== {name}\n{body}{undefine}"
            condition = CONDITIONS.get(stem)
            parts.append(headers + (f"{condition}\n{part}#endif\n" if condition else part))
        text = "".join(parts)
        text = re.sub(r"^#include <(stdatomic|pthread)\.h>\n", r"#ifndef SAMEBITS_NO_THREADS\n#include <\1.h>\n#endif\n", text, flags=re.M)
        return text.replace("__builtin_sqrt(", "SBI_SQUARE_ROOT(")

    def expand_headers(self, name):
        """A file as (headers that do not stand yet, the rest)."""
        headers = []

        def put(match):
            header = match.group(1).split("/")[-1]
            if header in ELSEWHERE or header in self.seen:
                return ""
            if not self.guarded(header):
                return f"\n{self.expand(self.read(header), self.seen)}\n"
            self.seen.add(header)
            headers.append(f"\n// ======== {header}\n" + self.expand(self.read(header), self.seen))
            return ""
        body = INCLUDE.sub(put, self.read(name))
        return "".join(headers), body

    def kernel_files(self):
        listed = (self.root / "cmake" / "kernels.cmake").read_text(encoding="utf-8")
        return re.search(r"set\(SBI_KERNEL_FILES ([^)]*)\)", listed).group(1).split()

    def level(self, level):
        where, words, instructions = LEVELS[level]
        seen = {"kernels.h"}
        parts = []
        stub = self.read("cpu_stub.h").replace("void SBI_JOIN(", "static void SBI_JOIN(")
        stub = re.sub(r"typedef union sbi_arg \{.*?\} sbi_arg;\n", "", stub, flags=re.S)
        shared = stub[:stub.index('#include "both.h"')]
        shared += stub[stub.index('#include "both.h"'):].replace('#include "both.h"', "").replace("#include SBI_ROWS", "")
        parts.append(self.expand(shared, seen))
        for name in self.kernel_files():
            own = self.read(f"{name}.cl")
            text = self.expand('#include "both.h"\n#include SBI_ROWS\n', seen, {"SBI_TEXT": f"{name}.cl", "SBI_ROWS": f"{name}.def"})
            undefine = "".join(f"#undef {m}\n" for m in macros(own) + ["NAME", "SBI_NAME", "SBI_NAME_"])
            parts.append(f"\n// ======== {name}.cl, level {level}\n{text}{undefine}")
        parts = [with_level("".join(f"#define {w} 1\n" for w in words) + "".join(parts), level)]
        for path in sorted((self.src / "kernels" / "tuned").glob("*.c")) if "SBI_TUNED" in words else ():
            body = self.expand(self.read(path.name), {"kernels.h"})
            body = re.sub(r"^void SBI_TUNED_LEVEL\(", "static void SBI_TUNED_LEVEL(", body, flags=re.M)
            text = with_level(body, level, path.stem)
            parts.append(f"\n// ======== {path.name}, level {level}\n{text}")
        table = self.expand(self.read("level_table.c").replace("    void SBI_JOIN(", "    static void SBI_JOIN("), seen)
        parts.append(with_level(f"#undef SBI_KERNEL\n#undef SBI_JOIN\n#undef SBI_JOIN_\n{table}", level))
        text = "".join(parts)
        text = f"#define {level}_SBI_LEVEL {level}\n{text}"
        text = text.replace("__builtin_sqrtf(", "SBI_SQUARE_ROOT_F(").replace("__builtin_sqrt(", "SBI_SQUARE_ROOT(")
        if instructions:
            text = (f'#if defined(__clang__)\n#pragma clang attribute push(__attribute__((target("{instructions[1]}"))), apply_to = function)\n'
                    f'#else\n#pragma GCC push_options\n#pragma GCC target("{instructions[0]}")\n#endif\n{text}'
                    "#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n")
        return f"#if defined({where})\n{text}#endif\n" if where else text

    def source(self, commit):
        return (HEAD.replace("{commit}", commit) + self.read("square_root.h") + ROOT_WORDS + self.host()
                + "".join(self.level(level) for level in LEVELS))


HEAD = """// SPDX-License-Identifier: Apache-2.0
// samebits in one file, generated by tools/amalgamate.py: do not edit. Compile it with
//     cc -std=c17 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -pthread -c samebits.c
// (gcc or clang; no flag that lets arithmetic be reordered or fused). SAMEBITS_NO_THREADS, SAMEBITS_NO_FILES: without.
#define _GNU_SOURCE
#define SBI_HAVE_PLAIN
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wpass-failed" // (it leaves some phases scalar)
#endif
#if defined(__FAST_MATH__)
#error "samebits refuses -ffast-math: it moves bits"
#endif
#if defined(__x86_64__)
#define SBI_HAVE_V4
#define SBI_HAVE_V3
#define SBI_HAVE_V1
#include <immintrin.h>
#elif defined(__aarch64__)
#define SBI_HAVE_NEON
#include <arm_neon.h>
#endif
#ifndef SBI_COMMIT
#define SBI_COMMIT "{commit}"
#endif
#include "samebits.h"
#ifdef SAMEBITS_NO_THREADS
@ONE_THREAD@#endif
"""
ROOT_WORDS = """
#if defined(__SSE2__) || defined(__aarch64__) || defined(__riscv_flen) || defined(__s390x__)
#define SBI_SQUARE_ROOT(x) __builtin_sqrt(x)
#define SBI_SQUARE_ROOT_F(x) __builtin_sqrtf(x)
#else
#define SBI_SQUARE_ROOT(x) sbi_square_root(x)
#define SBI_SQUARE_ROOT_F(x) ((float)sbi_square_root((double)(x))) // (53 bits are more than twice 24: rounded once)
#endif
"""


def commit_of(root):
    found = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--commit")
    given = parser.parse_args()
    amalgam = Amalgam(given.root)
    text = amalgam.source(given.commit or commit_of(given.root))
    text = text.replace("@ONE_THREAD@", amalgam.read("one_thread.h"))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "samebits.c").write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")
    (given.out / "samebits.h").write_text((given.root / "include" / "samebits.h").read_text(encoding="utf-8"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
