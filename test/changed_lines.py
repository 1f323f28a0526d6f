# SPDX-License-Identifier: Apache-2.0
"""Lines of kernels' headers, changed once: a test of them, built anew over the changed text, must fail and say where."""
import os
import shutil
import subprocess
import tempfile

from checks import check

FLAGS = ["-std=c17", "-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-D_GNU_SOURCE", "-w"]


def try_changes(root, test, changed, beside, changes, arguments, told):
    """test: test/TEST.c. changed: the headers in which lines change; beside: others that it reads. changes: (as it stands, changed, what must
    tell); arguments(what): of the test; told(what): how the line begins with which it must."""
    kernels = os.path.join(root, "src", "kernels")
    texts = {}
    for name in changed:
        with open(os.path.join(kernels, name), encoding="utf-8") as file:
            texts[name] = file.read()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(kernels, "dialect"), os.path.join(folder, "dialect"))
        for name in beside:
            shutil.copy(os.path.join(kernels, name), folder)

        def build(edit):
            for name, text in texts.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(edit(text))
            subprocess.run(["gcc", *FLAGS, f"-I{folder}", f"-I{root}/test", f"{root}/test/{test}.c", "-pthread", "-o", f"{folder}/test"], check=True)

        def run(given):
            return subprocess.run([f"{folder}/test", *given], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        build(lambda text: text)
        for given in dict.fromkeys(tuple(arguments(what)) for _, _, what in changes):
            said = run(given)
            check(said.returncode == 0, f"{given}, as it stands: {said.stdout[-300:]}")
        for stands, other, what in changes:
            found = sum(text.count(stands) for text in texts.values())
            check(found == 1, f"{stands!r} stands {found} times")
            build(lambda text, stands=stands, other=other: text.replace(stands, other))
            said = run(arguments(what))
            check(said.returncode == 1 and f"\n{told(what)}" in "\n" + said.stdout, f"{stands} -> {other}: not seen: {said.stdout[-300:]}")
