# SPDX-License-Identifier: Apache-2.0
foreach(name rows model model_file host_numbers linear/least_squares preprocessing/standard_scaler cluster/kmeans)
  target_sources(samebits_objects PRIVATE src/learn/${name}.c)
endforeach()
