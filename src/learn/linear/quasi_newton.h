// SPDX-License-Identifier: Apache-2.0
// The minimum of a smooth convex function, and of one plus weighted absolute values.
#ifndef SBI_QUASI_NEWTON_H
#define SBI_QUASI_NEWTON_H

#include "learn.h"

typedef struct sbi_minimum {
    int64_t size, max_iter;
    const double *l1; // [size]: the weight of |u_j|; NULL: none
    void *user;
    sb_status (*value)(void *user, const double *u, double *f, sb_error *err); // of the smooth part
    sb_status (*slope)(void *user, const double *u, double *g, sb_error *err); // its gradient there: u is the last of value
    void (*scale)(void *user, double *v);                                      // v = M^-1 v, where M is about the Hessian
    // Whether to end: the objective, the largest entry of its (pseudo-)gradient, half the decrease that a step promises.
    bool (*enough)(void *user, double f, double most, double decrement);
    double *u;          // [size]: where to begin, then the minimum
    double f, most;     // there
    int64_t iterations; // steps taken
    bool ended;         // by `enough`
} sbi_minimum;
sb_status sbi_minimise(const sbi_call *call, sbi_minimum *m, sb_error *err);
#endif
