// SPDX-License-Identifier: Apache-2.0
// Moments of columns that come in batches of rows (T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample
// variance, The American Statistician 37, 1983), in binary64. Of weights W, means m, sums of squares about them Q, a batch b joins
// what is there, a: W = RN64(W_a + W_b), D = RN64(m_b - m_a), m = RN64(m_a + RN64(D RN64(W_b / W))),
// Q = RN64(RN64(Q_a + Q_b) + RN64(RN64(D D) RN64(W_a RN64(W_b / W)))). A batch without weight changes nothing. Where the least and
// the greatest number are equal, m is that number and Q is +0: a constant stays constant to the bit.
#include "learn.h"

static void join(int64_t d, const double *a, double *b) { // one column, in steps of d
    if (!(a[SBI_WEIGHT * d] > 0.0)) return;
    if (!(b[SBI_WEIGHT * d] > 0.0)) {
        for (int i = 0; i < SBI_MOMENTS; i++) b[i * d] = a[i * d];
        return;
    }
    const double weight = a[SBI_WEIGHT * d] + b[SBI_WEIGHT * d], part = b[SBI_WEIGHT * d] / weight, apart = b[SBI_MEAN * d] - a[SBI_MEAN * d];
    const double moved = apart * part, between = a[SBI_WEIGHT * d] * part, square = apart * apart;
    const double squares = a[SBI_SQUARES * d] + b[SBI_SQUARES * d], spread = square * between;
    b[SBI_LOW * d] = a[SBI_LOW * d] < b[SBI_LOW * d] ? a[SBI_LOW * d] : b[SBI_LOW * d];
    b[SBI_HIGH * d] = a[SBI_HIGH * d] > b[SBI_HIGH * d] ? a[SBI_HIGH * d] : b[SBI_HIGH * d];
    const bool constant = b[SBI_LOW * d] == b[SBI_HIGH * d];
    b[SBI_MEAN * d] = constant ? b[SBI_LOW * d] + 0.0 : a[SBI_MEAN * d] + moved;
    b[SBI_SQUARES * d] = constant ? 0.0 : squares + spread;
    b[SBI_WEIGHT * d] = weight;
}

void sbi_moments_join(int64_t d, const double *a, double *b) {
    for (int64_t j = 0; j < d; j++) join(d, a + j, b + j);
}
