#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public header as ctypes: structs, enums, callbacks, functions.

prototypes.py HEADER OUT    writes OUT, the package's _prototypes.py: at every build, so that it cannot say something else."""
import re
import sys

SCALARS = {"int": "c_int", "int64_t": "c_int64", "uint64_t": "c_uint64", "uint8_t": "c_uint8", "size_t": "c_size_t", "double": "c_double",
           "float": "c_float", "void": "None"}


def clean(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n)*\n", "", text, flags=re.M)


class Header:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        text = clean(whole)
        self.enums = dict(re.findall(r"typedef enum (\w+) \{([^}]*)\} \w+;", text))
        self.structs = {name: body for name, body in re.findall(r"typedef struct (\w+) \{([^}]*)\} \w+;", text)}
        self.defines = dict(re.findall(r"^#define (SB_\w+) \(?(-?\d+)\)?\s*(?://.*)?$", whole, re.M))
        self.functions = [(" ".join(result.split()), name, " ".join(arguments.split()))
                          for result, name, arguments in re.findall(r"SB_API ([\w *]+?)(\bsb_\w+)\(((?:[^()]|\([^()]*\))*)\);", text)]

    def type_of(self, text):
        """Of a declaration with its name taken away."""
        text = re.sub(r"\b(const|struct)\b", "", text).replace(" *", "*").strip()
        stars = text.count("*")
        base = text.replace("*", "").strip()
        if base == "char" and stars:
            return "c_char_p" if stars == 1 else "POINTER(c_char_p)"
        if base == "char":
            return "c_char"
        if base in self.enums:
            kind = "c_int"
        elif base in self.structs:
            kind = base
        elif base in SCALARS:
            kind = SCALARS[base]
        elif base.startswith("sb_"):  # opaque
            kind, stars = "c_void_p", stars - 1
        else:
            raise SystemExit(f"prototypes: the type {text!r}")
        if kind == "None" and stars:
            kind, stars = "c_void_p", stars - 1
        return "POINTER(" * stars + kind + ")" * stars

    def declaration(self, text):
        """(name, type) of a field or parameter."""
        callback = re.match(r"([\w *]+?)\(\*(\w+)\)\((.*)\)$", text)
        if callback:
            kinds = [self.declaration(part.strip())[1] for part in callback.group(3).split(",")]
            result = self.type_of(callback.group(1))
            return callback.group(2), f"CFUNCTYPE({', '.join([result] + kinds)})"
        array = re.match(r"(.*?)(\w+)\[(\w*)\]$", text)
        if array:
            kind = self.type_of(array.group(1))
            return array.group(2), f"{kind} * {array.group(3)}" if array.group(3) else f"POINTER({kind})"
        name = re.search(r"(\w+)$", text).group(1)
        return name, self.type_of(text[:-len(name)])

    def field_list(self, body):
        for line in body.split(";"):
            line = " ".join(line.split())
            if not line:
                continue
            if "(" in line:
                yield self.declaration(line)
                continue
            head, *more = line.split(",")
            name, kind = self.declaration(head.strip())
            yield name, kind
            for other in more:
                yield other.strip().lstrip("*"), kind

    def python(self):
        lines = ["# SPDX-License-Identifier: Apache-2.0",
                 '"""include/samebits.h for ctypes. Written by tools/prototypes.py at build time."""',
                 "from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint8, c_uint64, c_void_p", ""]
        for body in self.enums.values():
            value = -1
            for item in body.split(","):
                item = item.strip()
                if item:
                    name, _, given = item.partition("=")
                    value = int(given) if given.strip() else value + 1
                    lines.append(f"{name.strip()} = {value}")
        lines += [f"{name} = {value}" for name, value in self.defines.items()]
        for name, body in self.structs.items():
            fields = list(self.field_list(body))
            lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
            lines += [f'        ("{field}", {kind}),' for field, kind in fields] + ["    ]"]
        lines += ["", "", "FUNCTIONS = {  # name: (result, arguments)"]
        for result, name, arguments in self.functions:
            kinds = [] if arguments == "void" else [self.parameter(part) for part in re.split(r",(?![^(]*\))", arguments)]
            lines.append(f'    "{name}": ({self.type_of(result)}, [{", ".join(kinds)}]),')
        return "\n".join(lines + ["}", ""])

    def parameter(self, text):
        name, kind = self.declaration(text.strip())
        array = re.match(r"(\w+) \* \d+$", kind)
        return f"POINTER({array.group(1)})" if array else kind


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(Header(sys.argv[1]).python())


main()
