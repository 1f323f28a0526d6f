// SPDX-License-Identifier: Apache-2.0
// T6: attention. Blocks of 128 key positions from position 0. A key is absent if it is masked or its score is -inf; a
// block without a present key is absent. An absent key's v is never read.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static int masked(const ref_attention *o, int64_t batch, int64_t query, int64_t key) {
    int64_t position = o->first + query;
    if (key >= o->keys || (o->mask && o->mask[batch * o->s + key] == 0))
        return 1;
    if (key < o->prefix)
        return 0;
    return (o->causal && key > position) || (o->window && key <= position - o->window);
}

#define REF_TEXT "ref_attention_typed.h"
#include "ref_both.h"
