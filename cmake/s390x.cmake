# SPDX-License-Identifier: Apache-2.0
set(SBI_CROSS s390x)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
