# SPDX-License-Identifier: Apache-2.0
"""Checks that are counted, as test.h does it for C: check(good, what) each, and sys.exit(end()) last."""
import sys

passed = failed = 0


def check(good, what):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAILED:", str(what).encode("ascii", "backslashreplace").decode(), file=sys.stderr, flush=True)


def end():
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
