#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# languages.sh SOURCE_DIR: every kernel file must also compile as OpenCL C 1.2 and as C++ with binary64 a class, so
# that the text stays one for all devices. Needs clang. Ends with a count; exit 1 if any fails.
cd "$1/src/kernels" || exit 2
passed=0 failed=0
check() { # check LANGUAGE FILE flags...
    language=$1 file=$2
    shift 2
    if printf '%s\n' "$prelude" "#define SBI_TEXT \"$file\"" '#include "both.h"' | clang "$@" -I. -Werror -Wno-unused-function -ferror-limit=3 -fsyntax-only -; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file is not $language"
    fi
}
for file in *.cl; do
    prelude='#include "dialect/opencl.h"'
    check "OpenCL C 1.2" "$file" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target spir64
    prelude='#define SBI_F64_CLASS
#include "dialect/c.h"'
    check "C++ with f64 a class" "$file" -x c++ -std=c++14
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
