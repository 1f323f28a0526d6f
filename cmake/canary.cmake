# SPDX-License-Identifier: Apache-2.0
if(CMAKE_C_FLAGS MATCHES "-ffast-math|-Ofast|-funsafe-math|-fp-contract=(fast|on)|-fassociative-math|-freciprocal-math")
  message(FATAL_ERROR "CMAKE_C_FLAGS moves bits: ${CMAKE_MATCH_0}")
endif()
