// SPDX-License-Identifier: Apache-2.0
// The list of lanes.
#include "proof.h"

#include <string.h>

const sbi_lane *const sbi_lane_files[] = {
#ifdef HAVE_LANES_gemm
    sbi_lanes_gemm,
#endif
#ifdef HAVE_LANES_attention
    sbi_lanes_attention,
#endif
#ifdef HAVE_LANES_reduce
    sbi_lanes_reduce,
#endif
#ifdef HAVE_LANES_element
    sbi_lanes_element,
#endif
#ifdef HAVE_LANES_function
    sbi_lanes_function,
#endif
#ifdef HAVE_LANES_softmax
    sbi_lanes_softmax,
#endif
#ifdef HAVE_LANES_norm
    sbi_lanes_norm,
#endif
#ifdef HAVE_LANES_rotary
    sbi_lanes_rotary,
#endif
#ifdef HAVE_LANES_embedding
    sbi_lanes_embedding,
#endif
#ifdef HAVE_LANES_sort
    sbi_lanes_sort,
#endif
#ifdef HAVE_LANES_random
    sbi_lanes_random,
#endif
#ifdef HAVE_LANES_optimizer
    sbi_lanes_optimizer,
#endif
#ifdef HAVE_LANES_model
    sbi_lanes_model,
#endif
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
