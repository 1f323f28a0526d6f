# SPDX-License-Identifier: Apache-2.0
target_sources(samebits_objects PRIVATE src/nn/parameters.c src/nn/layers.c src/nn/optimizer.c src/nn/schedule.c)
