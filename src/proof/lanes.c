// SPDX-License-Identifier: Apache-2.0
// The list of lanes.
#include "proof.h"

#include <string.h>

const sbi_lane *const sbi_lane_files[] = {
    sbi_lanes_gemm,
    sbi_lanes_attention,
    sbi_lanes_reduce,
    sbi_lanes_element,
    sbi_lanes_function,
    sbi_lanes_softmax,
    sbi_lanes_norm,
    sbi_lanes_rotary,
    sbi_lanes_embedding,
    sbi_lanes_scan,
    sbi_lanes_histogram,
    sbi_lanes_sort,
    sbi_lanes_random,
    sbi_lanes_optimizer,
    sbi_lanes_linalg,
    sbi_lanes_table,
    sbi_lanes_estimators,
    sbi_lanes_metrics,
    sbi_lanes_model,
    NULL,
};

const sbi_lane *sbi_lane_find(const char *name, size_t length) {
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++) {
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            if (strlen(lane->name) == length && memcmp(lane->name, name, length) == 0) {
                return lane;
            }
        }
    }
    return NULL;
}
