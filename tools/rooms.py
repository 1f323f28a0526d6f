#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a machine can check.

rooms.py [ROOT]                     the sources: includes between rooms, names, sizes, licence lines, forbidden calls
rooms.py --symbols BUILD [ROOT]     the objects: no libm, no state, and exactly the exported names of docs/symbols.txt
rooms.py --symbols BUILD --write    writes docs/symbols.txt (look at the diff: it is the public interface)

A room is a folder whose README.md has a line `may include: ROOM ...` (or `nothing`). A file may include files of its own
room and of those; the public header may be included everywhere. Exit status 1 and one line a fault."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

CODE = {".c", ".h", ".cl", ".def", ".py", ".sh", ".cmake"}
MOST_LINES = 1200
MANY_MAY_HAVE = {"README.md", "sources.cmake", ".gitignore", "__init__.py"}
EMPTY_NAMES = {"util", "utils", "common", "misc", "helper", "helpers"}
# Who else may call POSIX than base: what is no part of the library.
FREE_FOLDERS = ("cli", "test", "tools", "bench", "fuzz", "examples", "reference", "cmake")
C_HEADERS = {"stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "inttypes.h", "float.h",
             "limits.h", "stdio.h", "stdlib.h", "string.h"}
INTRINSICS = {"immintrin.h", "arm_neon.h"} # in kernels/tuned alone
# In src/: what reaches a bit by way of the C library, ends the process, or speaks to the user.
FORBIDDEN_CALLS = re.compile(r"\b(qsort|rand|srand|random|strtod|strtof|atof|abort|exit|longjmp|setjmp|assert|alloca|"
                             r"printf|puts|putchar|perror|strerror|gets|strcat|sprintf|system)\s*\(")
LIBM = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim floor
    fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
    nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalbln scalbn sin sincos sinh sqrt tan tanh
    tgamma trunc y0 y1 yn""".split()
LIBM_NAMES = {name + suffix for name in LIBM for suffix in ("", "f", "l")}
# Writable variables: facts of the machine asked once, the pool's count of forks, serial numbers of temporary files, the
# devices that this process has open.
STATE = {"forks", "forks_once", "known", "model", "once", "serial", "opened", "opened_held"}


def files_of(root):
    """Tracked and new files, not what git ignores; every file where there is no git."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], check=True,
                                capture_output=True, text=True).stdout.split("\n")
        return [root / name for name in sorted(set(listed)) if name and (root / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        skipped = re.compile(r"^(\.git|build.*|demo-out|__pycache__)$")
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if not skipped.match(f)]
            found += [pathlib.Path(folder) / name for name in names]
        return found


def without_comments(text):
    """The text with comments and the insides of strings blanked, line for line (kept where a string is an include's)."""
    def blank(match):
        piece = match.group(0)
        return piece if piece[0] in "\"'" and "\n" not in piece and piece.startswith('"') else re.sub(r"[^\n]", " ", piece)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


class House:
    def __init__(self, root):
        self.root, self.faults = root, []
        self.files = files_of(root)
        self.rooms = {}  # folder -> folders it may include
        for path in self.files:
            if path.name == "README.md" and path.parent != root:
                self.read_room(path)
        self.by_name = {}
        for path in self.files:
            self.by_name.setdefault(path.name, []).append(path)

    def fault(self, path, line, words):
        self.faults.append(f"{path.relative_to(self.root)}:{line}: {words}")

    def read_room(self, path):
        lines = path.read_text(encoding="utf-8").splitlines()
        rule = [line for line in lines if line.startswith("may include:")]
        if not rule:
            return
        if len(lines) > 10:
            self.fault(path, 11, f"{len(lines)} lines: a room is described in ten")
        if len(rule) > 1 or lines[-1] != rule[0]:
            self.fault(path, len(lines), "`may include:` stands once, in the last line")
        words = rule[0].split(":", 1)[1].split()
        self.rooms[path.parent] = [self.root / "src" / w for w in words if w != "nothing"]

    def room_of(self, path):
        return next((folder for folder in path.parents if folder in self.rooms), None)

    def check_rooms(self):
        for folder in sorted((self.root / "src").iterdir()):
            if folder.is_dir() and folder not in self.rooms:
                self.fault(folder / "README.md", 1, "a room without a line `may include: ...`")
        for folder, allowed in self.rooms.items():
            for other in allowed:
                if other not in self.rooms:
                    self.fault(folder / "README.md", 1, f"there is no room {other.name}")
                elif folder in self.rooms[other]:
                    self.fault(folder / "README.md", 1, f"{folder.name} and {other.name} include each other")

    def check_names(self):
        for name, paths in self.by_name.items():
            if len(paths) > 1 and name not in MANY_MAY_HAVE:
                self.fault(paths[0], 1, "this name occurs again: " + ", ".join(str(p.relative_to(self.root)) for p in paths[1:]))
            if pathlib.Path(name).stem.lower() in EMPTY_NAMES:
                self.fault(paths[0], 1, "a name that says nothing")

    def check_text(self, path, text):
        lines = text.split("\n")
        if path.suffix in CODE or path.name in ("CMakeLists.txt", "Makefile"):
            if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:3]):
                self.fault(path, 1, "no SPDX line")
            if len(lines) > MOST_LINES and "generated" not in lines[1]:
                self.fault(path, len(lines), f"more than {MOST_LINES} lines")
        if path.suffix in (".c", ".h", ".cl", ".def"):
            self.check_c(path, without_comments(text).split("\n"))

    def check_c(self, path, lines):
        room, parts = self.room_of(path), path.relative_to(self.root).parts
        in_library = parts[0] == "src"
        for number, line in enumerate(lines, 1):
            quoted = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            system = re.match(r"\s*#\s*include\s*<([^>]+)>", line)
            if quoted and room:
                self.check_include(path, number, room, quoted.group(1).split("/")[-1])
            if system and system.group(1) in ("math.h", "tgmath.h", "complex.h") and parts[0] not in FREE_FOLDERS:
                self.fault(path, number, f"<{system.group(1)}>: no libm in what reaches a bit")
            if system and parts[:3] == ("src", "kernels", "tuned") and system.group(1) in INTRINSICS:
                continue
            if system and in_library and parts[1] != "base" and system.group(1) not in C_HEADERS:
                self.fault(path, number, f"<{system.group(1)}>: only base/ speaks to the system")
            if system and in_library and parts[1] == "kernels" and system.group(1) not in ("stdint.h", "stddef.h"):
                self.fault(path, number, f"<{system.group(1)}>: kernels know nobody")
            if re.match(r"\s*#\s*if\s+0\b", line):
                self.fault(path, number, "#if 0")
            if in_library:
                for call in FORBIDDEN_CALLS.findall(re.sub(r'"(?:\\.|[^"\\])*"', '""', line)):
                    self.fault(path, number, f"{call}() is not called in the library")

    def check_include(self, path, number, room, name):
        targets = self.by_name.get(name, [])
        if name == "samebits.h" or not targets:  # (a header made by the build stands nowhere here)
            if not targets and name != "samebits_commit.h":
                self.fault(path, number, f"{name} is nowhere in the tree")
            return
        home = self.room_of(targets[0])
        if home != room and home not in self.rooms[room]:
            where = home.name if home else targets[0].parent.name
            self.fault(path, number, f"{room.name} may not include {name} of {where}")

    def check(self):
        self.check_rooms()
        self.check_names()
        for path in self.files:
            if path.suffix in CODE | {".md"} or path.name in ("CMakeLists.txt", "Makefile"):
                self.check_text(path, path.read_text(encoding="utf-8"))
        return self.faults


def nm(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout.split("\n")


def check_symbols(root, build, program, write):
    faults = []
    member = ""
    for line in nm(program, build / "libsamebits.a"):
        if line.endswith(".o:"):
            member = line[:-1]
        found = re.match(r"[0-9a-f ]+ ([A-Za-z]) (\S+)$", line)
        if not found:
            continue
        kind, name = found.group(1), found.group(2)
        if kind == "U" and name.split("@")[0] in LIBM_NAMES:
            faults.append(f"{member}: calls {name} of libm")
        if kind in "bBC" and name.split(".")[0] not in STATE:
            faults.append(f"{member}: {name} is a writable variable; the library keeps no state")
    shared = build / "libsamebits.so"
    exported = sorted(line.split()[-1] for line in nm(program, "-D", "--defined-only", shared) if line.strip())
    listed = root / "docs" / "symbols.txt"
    if write:
        listed.write_text("".join(name + "\n" for name in exported), encoding="ascii")
    expected = listed.read_text(encoding="ascii").split() if listed.exists() else []
    for name in sorted(set(exported) ^ set(expected)):
        how = "is exported and not in" if name in exported else "is not exported and in"
        faults.append(f"{name} {how} docs/symbols.txt (tools/rooms.py --symbols BUILD --write)")
    header = without_comments((root / "include" / "samebits.h").read_text(encoding="utf-8"))
    declared = set(re.findall(r"SB_API\b[^;{]*?\b(sb_\w+)\s*\(", header))
    for name in sorted(declared ^ set(exported)):
        faults.append(f"{name} is " + ("declared and not exported" if name in declared else "exported and not declared"))
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    parser.add_argument("--symbols", metavar="BUILD", type=pathlib.Path)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    root = given.root.resolve()
    if given.symbols:
        faults = check_symbols(root, given.symbols, given.nm, given.write)
    else:
        house = House(root)
        faults = house.check()
        print(f"{len(house.files)} files, {len(house.rooms)} rooms")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
