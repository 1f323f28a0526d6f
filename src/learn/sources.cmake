# SPDX-License-Identifier: Apache-2.0
foreach(name
  rows
  model
  model_file
  host_numbers
  moments
  classes
  words
  table
  cluster/kmeans
  decomposition/minka
  decomposition/pca
  decomposition/projection
  decomposition/truncated_svd
  impute/simple_imputer
  linear/centred_rows
  linear/elastic_net
  linear/gram_solve
  linear/least_squares
  linear/linear_regression
  linear/ridge
  naive_bayes/gaussian_nb
  preprocessing/min_max_scaler
  preprocessing/standard_scaler)
  target_sources(samebits_objects PRIVATE src/learn/${name}.c)
endforeach()
