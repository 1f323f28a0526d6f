#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sabotaged kernels: for every row of test/sabotage.def a copy of a kernel's text with one line changed.

    sabotage.py list ROWS KERNELS              prints every file that `write` writes, for CMake
    sabotage.py write ROWS KERNELS OUT         writes for every row OUT/NAME/*.cl, *.h and a stub OUT/NAME/FILE.c for
                                               every kernel file, and OUT/sabotage_rows.c, what test_sabotage.c runs

A row reads SABOTAGE(name, "file.cl", "line as it stands", "changed line", "lanes,that,must,diverge"); strings as in C. The
line is looked for in file.cl and in the headers beside it that it includes; it must stand there exactly once, space at
both ends ignored. With a header in place of file.cl, every kernel file that includes it is built anew.
"""
import os
import re
import sys

STRING = r'"(?:[^"\\]|\\.)*"'
ROW = re.compile(r'SABOTAGE\(\s*(\w+)\s*,' + r'\s*,'.join([r'\s*((?:%s\s*)+)' % STRING] * 4) + r'\s*\)')
INCLUDE = re.compile(r'^\s*#include "([^"/]+)"', re.M)


def fail(message):
    sys.exit('sabotage: ' + message)


def string(text):
    parts = re.findall(STRING, text)
    return re.sub(r'\\(.)', r'\1', ''.join(part[1:-1] for part in parts))


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    if os.path.exists(path) and read(path) == text:
        return # (what stands is left alone, so that only changed rows are compiled again)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def rows_of(path):
    text = re.sub(r'^\s*//.*$', '', read(path), flags=re.M)
    rows = {}
    for match in ROW.finditer(text):
        name, row = match.group(1), [string(match.group(i)) for i in (2, 3, 4, 5)]
        if name in rows:
            fail('%s stands twice' % name)
        if not row[1].strip() or row[1].strip() == row[2].strip():
            fail('%s changes nothing' % name)
        rows[name] = row
    rest = ROW.sub('', text).strip()
    if rest:
        fail('not a row: %s' % rest.split('\n')[0])
    return rows


def texts_of(kernels, file):
    """The file and the headers beside it that it includes, by name."""
    found, wanted = {}, [file]
    while wanted:
        name = wanted.pop()
        path = os.path.join(kernels, name)
        if name not in found and os.path.exists(path):
            found[name] = read(path)
            wanted += INCLUDE.findall(found[name])
    return found


def kernel_files(kernels, file):
    if file.endswith('.cl'):
        return [file]
    files = sorted(name for name in os.listdir(kernels) if name.endswith('.cl') and file in texts_of(kernels, name))
    if not files:
        fail('no kernel file includes %s' % file)
    return files


def changed(text, line, replacement):
    """The text with every line that reads `line` replaced, and how many there were."""
    lines, count = text.split('\n'), 0
    for i, own in enumerate(lines):
        if own.strip() == line.strip():
            lines[i] = own[:len(own) - len(own.lstrip())] + replacement.strip()
            count += 1
    return '\n'.join(lines), count


def make_row(rows, name, kernels, out):
    file, line, replacement, _ = rows[name]
    for kernel in kernel_files(kernels, file):
        places = []
        for part, text in texts_of(kernels, kernel).items():
            new, count = changed(text, line, replacement) if file in (part, kernel) else (text, 0)
            places += [part] * count
            write(os.path.join(out, name, part), new)
        if len(places) != 1:
            fail('%s: the line "%s" stands %d times in %s%s, not once' % (
                name, line.strip(), len(places), kernel, ' (%s)' % ', '.join(places) if places else ''))
        base = kernel[:-3]
        write(os.path.join(out, name, base + '.c'),
              '#define SBI_LEVEL sabotage_%s\n#define SBI_TEXT "%s/%s"\n#define SBI_ROWS "%s.def"\n#include "cpu_stub.h"\n'
              % (name, name, kernel, base))


def quoted(text):
    return '"%s"' % text.strip().replace('\\', '\\\\').replace('"', '\\"')


def make_table(rows, kernels, out):
    code = ['// Written by tools/sabotage.py from test/sabotage.def.', '#include "sabotage.h"', '']
    table = []
    for name, (file, line, replacement, lane) in rows.items():
        for macro in ('void name##_sabotage_%s(const sbi_arg *args, int64_t first, int64_t last, void *scratch);' % name,
                      'run[SBI_ID_##name] = name##_sabotage_%s;' % name):
            code.append('#define SBI_KERNEL(name, lanes, count, ...) ' + macro)
            if macro.startswith('run'):
                code.append('static void apply_%s(sbi_kernel_run *run) {' % name)
            code += ['#include "%s.def"' % kernel[:-3] for kernel in kernel_files(kernels, file)]
            if macro.startswith('run'):
                code.append('}')
            code.append('#undef SBI_KERNEL')
        table.append('    {"%s", %s, %s, %s, %s, apply_%s},' % (
            name, quoted(file), quoted(line), quoted(replacement), quoted(lane), name))
    code += ['const sabotage_row sabotage_rows[] = {'] + table + ['    {NULL, NULL, NULL, NULL, NULL, NULL},', '};', '']
    write(os.path.join(out, 'sabotage_rows.c'), '\n'.join(code))


def main(words):
    if len(words) == 3 and words[0] == 'list':
        names = {'sabotage_rows.c'}
        for name, row in rows_of(words[1]).items():
            for kernel in kernel_files(words[2], row[0]):
                names.add('%s/%s.c' % (name, kernel[:-3]))
                names.update('%s/%s' % (name, part) for part in texts_of(words[2], kernel))
        print('\n'.join(sorted(names)))
    elif len(words) == 4 and words[0] == 'write':
        rows = rows_of(words[1])
        for name in rows:
            make_row(rows, name, words[2], words[3])
        make_table(rows, words[2], words[3])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
