#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# languages.sh SOURCE_DIR: every kernel file must also compile as OpenCL C 1.2, as C++ with binary64 a class, and as C++
# for OpenCL on a device without binary64, so that the text stays one for all devices. Needs clang and python3. Ends with
# a count; exit 1 if any fails.
cd "$1/src/kernels" || exit 2
program=$(mktemp) || exit 2
trap 'rm -f "$program"' EXIT
passed=0 failed=0
check() { # check LANGUAGE FILE flags...: the program
    language=$1 file=$2
    shift 2
    if clang "$@" -I. -Werror -Wno-unused-function -ferror-limit=3 -fsyntax-only "$program"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file is not $language"
    fi
}
divides() { # divides FILE: float32 is divided, and its root taken, in sbi_plain_divide and sbi_plain_root alone
    if bare=$(clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target spir64 -I. -DSBI_DIVIDE=sbi_near_divide -DSBI_ROOT=sbi_near_root -O0 -S -emit-llvm -o - "$program" |
        awk '/^define/ { name = $0; sub(/.*@/, "", name); sub(/\(.*/, "", name) }
             name !~ /^sbi_plain_/ && (/ fdiv [a-z ]*float/ || /call .*@_Z4sqrtf\(/) { print name }' | sort -u) && [ -z "$bare" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$file divides float32, or takes its root, beside DIV32 and SQRT32:" $bare
    fi
}
text() { # text DIALECT FILE defines...: the program
    dialect=$1 file=$2
    shift 2
    printf '%s\n' "$@" "#include \"dialect/$dialect.h\"" "#define SBI_TEXT \"$file\"" '#include "both.h"'
}
for file in *.cl; do
    text opencl "$file" >"$program"
    for way in plain near; do
        check "OpenCL C 1.2" "$file" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target spir64 -DSBI_DIVIDE=sbi_${way}_divide -DSBI_ROOT=sbi_${way}_root
    done
    divides "$file"
    text c "$file" '#define SBI_F64_CLASS' >"$program"
    check "C++ with f64 a class" "$file" -x c++ -std=c++14
    text opencl "$file" '#define SBI_F64_CLASS' | clang -E -P -undef -x c -std=c99 -I. - | python3 ../../tools/cxx_text.py >"$program"
    check "C++ for OpenCL without double" "$file" -x cl -cl-std=clc++ -Xclang -finclude-default-header -target spir64 -Xclang -cl-ext=-cl_khr_fp64 -DSBI_DIVIDE=sbi_near_divide -DSBI_ROOT=sbi_near_root
done
text opencl function.cl '#define SBI_PAIRS' >"$program"
check "OpenCL C 1.2" pairs.h -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target spir64 -DSBI_DIVIDE=sbi_near_divide -DSBI_ROOT=sbi_near_root
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
