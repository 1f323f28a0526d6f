#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/rooms.py finds what it is there to find: each fault is planted in a copy of the sources and must be named."""
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import rooms  # noqa: E402

LINE = "// SPDX-License-Identifier: Apache-2.0\n"
PLANTED = [  # file, text added to it (or its whole text), what must be said
    ("src/base/memory.c", '#include "array.h"\n', "base may not include array.h of array"),
    ("src/kernels/sort.cl", '#include "base.h"\n', "kernels may not include base.h of base"),
    ("src/io/json.c", '#include "ops.h"\n', "io may not include ops.h of ops"),
    ("src/nn/new_layer.c", LINE + '#include "lm.h"\n', "nn may not include lm.h of lm"),
    ("src/nn/another.c", LINE + '#include "no_such.h"\n', "nowhere in the tree"),
    ("cli/main.c", '#include "array.h"\n', "cli may not include array.h of array"),
    ("src/ops/run.c", "#include <math.h>\n", "no libm"),
    ("src/array/array.c", "#include <unistd.h>\n", "only base/ speaks to the system"),
    ("src/kernels/number.h", "#include <string.h>\n", "kernels know nobody"),
    ("src/io/real.c", "double f(const char *s) { return strtod(s, 0); }\n", "strtod() is not called"),
    ("src/array/context.c", 'void f(void) { printf("x"); }\n', "printf() is not called"),
    ("src/base/error.c", "#if 0\n#endif\n", "#if 0"),
    ("src/ops/sort.cl", LINE, "this name occurs again"),
    ("src/ops/utils.c", LINE, "a name that says nothing"),
    ("src/ops/bare.c", "int x;\n", "no SPDX line"),
    ("src/ops/long.c", LINE + "//\n" * 1200, "more than 1200 lines"),
    ("src/attic/old.c", LINE, "a room without a line"),
    ("src/ops/README.md", "more\n", "in the last line"),
]
HARMLESS = [
    ("src/ops/run.c", '// #include <math.h> and printf(\n/* exit(1);\n#include "lm.h" */\n'),
    ("src/io/json.c", 'const char *s = "exit(1); // not a call"; int my_exit(int);\n'),
]


def faults_with(name, text):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "tree"
        for path in rooms.files_of(ROOT):
            if path.suffix in rooms.CODE or path.name == "README.md":
                target = copy / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        changed = copy / name
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text((changed.read_text() if changed.exists() else "") + text)
        return rooms.House(copy).check()


def main():
    failed = 0
    clean = set(faults_with("src/ops/run.c", ""))
    for name, text, words in PLANTED:
        found = [fault for fault in faults_with(name, text) if fault not in clean]
        if not any(words in fault and fault.split("/")[0] in ("src", "cli") for fault in found):
            failed += 1
            print(f"{name}: nothing says \"{words}\": {found}")
    for name, text in HARMLESS:
        found = [fault for fault in faults_with(name, text) if fault not in clean]
        if found:
            failed += 1
            print(f"{name}: harmless, but: {found}")
    print(f"{len(PLANTED) + len(HARMLESS) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
