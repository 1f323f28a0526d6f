# SPDX-License-Identifier: Apache-2.0
"""python -m samebits ...: the command that came with the package."""
import os
import sys

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samebits-command")


def main():
    os.execv(COMMAND, [COMMAND, *sys.argv[1:]])


if __name__ == "__main__":
    main()
