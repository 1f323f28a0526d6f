// SPDX-License-Identifier: Apache-2.0
// The one-file build with SAMEBITS_NO_THREADS: what the library uses of <stdatomic.h> and <pthread.h> where there is one
// thread (and, on a bare core, neither header).
#ifndef SBI_ONE_THREAD_H
#define SBI_ONE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h> // (some C libraries declare pthread_once_t here: before the words below)
#include <stdlib.h>

typedef int atomic_int;
typedef unsigned atomic_uint;
typedef uintptr_t atomic_uintptr_t;
typedef int_least64_t atomic_int_least64_t;
typedef ptrdiff_t atomic_ptrdiff_t;
typedef struct atomic_flag { bool set; } atomic_flag;
#define ATOMIC_FLAG_INIT {false}
#define atomic_init(p, value) ((void)(*(p) = (value)))
#define atomic_load(p) (*(p))
#define atomic_load_explicit(p, order) (*(p))
#define atomic_store(p, value) ((void)(*(p) = (value)))
#define atomic_store_explicit(p, value, order) ((void)(*(p) = (value)))
#define atomic_fetch_add(p, value) ((*(p) += (value)) - (value))
#define atomic_fetch_sub(p, value) ((*(p) -= (value)) + (value))
#define atomic_fetch_add_explicit(p, value, order) atomic_fetch_add(p, value)
static inline uintptr_t atomic_exchange(atomic_uintptr_t *p, uintptr_t value) {
    const uintptr_t before = *p;
    *p = value;
    return before;
}
#define atomic_flag_clear(flag) ((void)((flag)->set = false))
#define atomic_flag_clear_explicit(flag, order) atomic_flag_clear(flag)
#define atomic_flag_test_and_set_explicit(flag, order) ((flag)->set ? true : ((flag)->set = true, false))

#define pthread_once_t bool
#define PTHREAD_ONCE_INIT false
#define pthread_once(once, make) ((void)(*(once) ? 0 : (*(once) = true, make(), 0)))
#endif
