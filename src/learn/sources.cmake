# SPDX-License-Identifier: Apache-2.0
foreach(name rows model model_file host_numbers moments classes words table
             linear/linear_regression linear/centred_rows
             preprocessing/standard_scaler preprocessing/min_max_scaler
             impute/simple_imputer
             naive_bayes/gaussian_nb
             cluster/kmeans)
  target_sources(samebits_objects PRIVATE src/learn/${name}.c)
endforeach()
