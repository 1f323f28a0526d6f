#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_install.py BUILD: installs into a staged folder and builds a program against it by pkg-config (shared and static),
by find_package (shared and static) and as C++; runs each, and the installed command."""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = """#include <samebits.h>
#include <stdio.h>
int main(void) {
    float x[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    int64_t shape[1] = {4};
    double total = 0.0;
    sb_error err;
    sb_context *ctx = NULL;
    sb_array *a = NULL;
    if (sb_context_new(NULL, &ctx, &err) != SB_OK || sb_array_wrap(ctx, SB_F32, 1, shape, x, &a, &err) != SB_OK ||
        sb_total(ctx, a, &total, &err) != SB_OK) return 1;
    printf("samebits %s: %g\\n", sb_version(), total);
    sb_array_free(a);
    sb_context_free(ctx);
    return 0;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(samebits 0.1 REQUIRED CONFIG)
add_executable(shared consumer.c)
target_link_libraries(shared samebits::samebits)
add_executable(static consumer.c)
target_link_libraries(static samebits::static)
"""


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")
    return done.stdout.strip()


def find(folder, name):
    found = [os.path.join(f, name) for f, _, files in os.walk(folder) if name in files]
    if len(found) != 1:
        raise SystemExit(f"{name} is {len(found)} times in what was installed")
    return found[0]


def main():
    build, passed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder:
        stage, work = os.path.join(folder, "stage"), os.path.join(folder, "work")
        os.mkdir(work)
        run("cmake", "--install", build, "--prefix", "/opt/samebits", env=dict(os.environ, DESTDIR=stage))
        root = os.path.join(stage, "opt/samebits")
        library = os.path.dirname(find(root, "libsamebits.a"))
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(find(root, "samebits.pc")), LD_LIBRARY_PATH=library)
        for name, text in (("consumer.c", SOURCE), ("consumer.cpp", SOURCE), ("CMakeLists.txt", CMAKE)):
            with open(os.path.join(work, name), "w", encoding="ascii") as file:
                file.write(text)
        flags = run("pkg-config", "--cflags", "--libs", "samebits", env=environment).split()
        static = run("pkg-config", "--cflags", "--static", "--libs", "samebits", env=environment).split()
        static = [find(root, "libsamebits.a") if flag == "-lsamebits" else flag for flag in static]
        for name, command in (("c", ["cc", "-std=c17", "consumer.c", *flags]), ("c_static", ["cc", "consumer.c", *static]),
                              ("cpp", ["c++", "-std=c++11", "consumer.cpp", *flags])):
            run(*command, "-o", name, cwd=work, env=environment)
        run("cmake", "-S", work, "-B", work + "/build", f"-DCMAKE_PREFIX_PATH={root}")
        run("cmake", "--build", work + "/build")
        for program in ("c", "c_static", "cpp", "build/shared", "build/static"):
            said = run(os.path.join(work, program), env=environment)
            if not said.endswith(": 10"):
                raise SystemExit(f"{program} says {said}")
            passed += 1
        version = run("pkg-config", "--modversion", "samebits", env=environment)
        said = run(os.path.join(root, "bin/samebits"), "--version")
        if not said.startswith(f"samebits {version},"):
            raise SystemExit(f"pkg-config says {version}, the command {said}")
        run(os.path.join(root, "bin/samebits"), "verify", "--lanes", "add")
        find(root, "samebits.1")
        for path in [os.path.join(ROOT, "include/samebits.h"), *glob.glob(ROOT + "/cli/*.c")]:
            with open(path, encoding="utf-8") as file:
                for page in re.findall(r"docs/(\w+\.md)", file.read()):
                    find(root, page)  # what the header and the command send their readers to
        print(f"{passed + 1} programs built against what was installed run")


if __name__ == "__main__":
    main()
