# SPDX-License-Identifier: Apache-2.0
set(LINALG panels triangle cholesky solve reflector tridiagonal eigh qr svd random_svd lstsq lu)
list(TRANSFORM LINALG REPLACE "(.+)" "src/linalg/\\1.c")
target_sources(samebits_objects PRIVATE ${LINALG})
