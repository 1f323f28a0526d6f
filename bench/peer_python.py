# SPDX-License-Identifier: Apache-2.0
"""Where a bench finds its peer."""
import os
import subprocess
import sys


def python_with(venv, *packages):
    """A Python that can import the packages: this one, that of the folder `venv`, or a throw-away environment made there."""
    own = os.path.join(venv, "bin", "python")
    for python in (sys.executable, own):
        if os.path.exists(python) and subprocess.run([python, "-c", "import " + ", ".join(packages)], capture_output=True).returncode == 0:
            return python
    print(f"installing {', '.join(packages)} into {venv} (throw-away)", flush=True)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([own, "-m", "pip", "install", "--quiet", *packages], check=True)
    return own
