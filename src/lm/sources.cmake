# SPDX-License-Identifier: Apache-2.0
foreach(name IN ITEMS recipe corpus decoder ledger trainer checkpoint crew training_run evaluate generate describe)
  target_sources(samebits_objects PRIVATE src/lm/${name}.c)
endforeach()
