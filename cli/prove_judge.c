// SPDX-License-Identifier: Apache-2.0
// The judge of `samebits prove`. (It uses <math.h>: nothing here reaches a bit of a result.)
//
// A float y is right for x if the exact f(x) lies between the two ties around y (for a zero: below half the least
// subnormal, with its sign; for an infinity: beyond the last tie). The host's double evaluation d decides where it is
// further than 2^-40 |d| from both ties, much further than any double function here errs; everything nearer, every
// disagreement, and all arguments where d loses its relative accuracy go to MPFR, with more and more bits until the
// exact value's interval lies on one side. f(x) is never a tie itself: an undecided tie at 8192 bits counts as wrong.
#include "prove_judge.h"

#include <math.h>
#include <string.h>

#ifdef SBI_HAVE_MPFR
#include <mpfr.h>
const bool sbi_judge_has_mpfr = true;
#else
const bool sbi_judge_has_mpfr = false;
#endif

enum { EXP, LOG, SIN, COS, RSQRT, SIGMOID, SILU, SILU_GRAD, NORMAL };

const sbi_judged sbi_judged_functions[] = {
    {"exp", SB_EXP, EXP},
    {"log", SB_LOG, LOG},
    {"sin", SB_SIN, SIN},
    {"cos", SB_COS, COS},
    {"rsqrt", SB_RSQRT, RSQRT},
    {"sigmoid", SB_SIGMOID, SIGMOID},
    {"silu", SB_SILU, SILU},
    {"silu_grad", SB_SILU_GRAD, SILU_GRAD},
    {"normal", SB_INVERSE_NORMAL, NORMAL},
    {NULL, SB_EXP, -1},
};

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// ---------------------------------------------------------------- the host's double functions

static double sigmoid(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double silu(double x) {
    if (x < -700) {
        return -0.0;
    }
    return x < 0 ? x * exp(x) / (1 + exp(x)) : x / (1 + exp(-x));
}

static double silu_grad(double x) {
    if (fabs(x) > 700) {
        return x < 0 ? -0.0 : 1.0;
    }
    double e = exp(-fabs(x)), s = x < 0 ? e / (1 + e) : 1 / (1 + e), c = x < 0 ? 1 / (1 + e) : e / (1 + e);
    return s * (1 + x * c);
}

static bool silu_grad_cancels(double x) { return fabs(x + 1.2784645427610738) < 0.01; }

// -z for p < 1/2 by one step of Halley's method on erfc from the output under judgement: what is left of its error is
// cubed. An output that is far off stays far off, and goes to MPFR.
static double normal(double p, double claim) {
    double s = claim * 0.70710678118654752440, density = exp(-s * s) * 0.39894228040143267794;
    double e = (p > 0.25 ? 0.5 - p - 0.5 * erf(s) : 0.5 * erfc(s) - p) / density;
    return claim + e / (1 - 0.5 * claim * e);
}

static double evaluate(int number, double x, double claim) {
    switch (number) {
    case EXP: return exp(x);
    case LOG: return log(x);
    case SIN: return sin(x);
    case COS: return cos(x);
    case RSQRT: return 1 / sqrt(x);
    case SIGMOID: return sigmoid(x);
    case SILU: return silu(x);
    case SILU_GRAD: return silu_grad(x);
    default: return normal(x, claim);
    }
}

// ---------------------------------------------------------------- MPFR

#ifdef SBI_HAVE_MPFR
typedef struct scratch {
    mpfr_t x, r, s, difference;
} scratch;

static void evaluate_exactly(int number, mpfr_t r, mpfr_t x, mpfr_t s) {
    switch (number) {
    case EXP: mpfr_exp(r, x, MPFR_RNDN); return;
    case LOG: mpfr_log(r, x, MPFR_RNDN); return;
    case SIN: mpfr_sin(r, x, MPFR_RNDN); return;
    case COS: mpfr_cos(r, x, MPFR_RNDN); return;
    case RSQRT: mpfr_rec_sqrt(r, x, MPFR_RNDN); return;
    default: break;
    }
    mpfr_neg(s, x, MPFR_RNDN);
    mpfr_exp(s, s, MPFR_RNDN);
    mpfr_add_ui(s, s, 1, MPFR_RNDN);
    mpfr_ui_div(s, 1, s, MPFR_RNDN); // sigmoid
    if (number == SIGMOID) {
        mpfr_set(r, s, MPFR_RNDN);
    } else if (number == SILU) {
        mpfr_mul(r, x, s, MPFR_RNDN);
    } else {
        mpfr_ui_sub(r, 1, s, MPFR_RNDN);
        mpfr_mul(r, r, x, MPFR_RNDN);
        mpfr_add_ui(r, r, 1, MPFR_RNDN);
        mpfr_mul(r, r, s, MPFR_RNDN);
    }
}

// Sign of v - tie, where |v - exact value| < 2^error; 0: not known.
static int beside(mpfr_t v, double tie, long error, mpfr_t difference, double *distance) {
    if (isinf(tie)) {
        return -1;
    }
    mpfr_sub_d(difference, v, tie, MPFR_RNDN);
    if (mpfr_zero_p(difference) || mpfr_get_exp(difference) <= error + 1) {
        return 0;
    }
    *distance = fmin(*distance, fabs(mpfr_get_d(difference, MPFR_RNDN) / tie));
    return mpfr_sgn(difference) > 0 ? 1 : -1;
}

static long error_of(mpfr_t v, long precision) {
    return (mpfr_zero_p(v) ? 0 : (long)mpfr_get_exp(v)) + 16 - precision;
}

// Is low < |f(x)| < high, and f(x) of this sign?
static bool exactly_between(int number, double x, double low, double high, bool negative, scratch *w, double *distance) {
    for (long precision = fabs(x) < 0x1p-50 ? 512 : 128; precision <= 8192; precision *= 2) {
        mpfr_set_prec(w->r, precision);
        mpfr_set_prec(w->s, precision);
        mpfr_set_prec(w->difference, precision);
        mpfr_set_d(w->x, x, MPFR_RNDN);
        evaluate_exactly(number, w->r, w->x, w->s);
        if ((mpfr_signbit(w->r) != 0) != negative) {
            return false;
        }
        mpfr_abs(w->r, w->r, MPFR_RNDN);
        long error = number == SILU_GRAD && silu_grad_cancels(x) ? 16 - precision : error_of(w->r, precision);
        int above = low < 0 ? 1 : beside(w->r, low, error, w->difference, distance);
        int below = beside(w->r, high, error, w->difference, distance);
        if (above && below) {
            return above > 0 && below < 0;
        }
    }
    return false;
}

// Is low < |z(p)| < high? The tail beyond a tie is smaller than p just where the tie is beyond |z|.
static bool normal_between(double p, double low, double high, scratch *w, double *distance) {
    const double ties[2] = {low, high};
    int sign[2] = {low < 0 ? 1 : 0, 0};
    for (int i = 0; i < 2; i++) {
        for (long precision = 128; precision <= 8192 && !sign[i]; precision *= 2) {
            mpfr_set_prec(w->r, precision);
            mpfr_set_prec(w->s, precision);
            mpfr_set_prec(w->difference, precision);
            mpfr_sqrt_ui(w->s, 2, MPFR_RNDN);
            mpfr_d_div(w->s, ties[i], w->s, MPFR_RNDN);
            mpfr_erfc(w->r, w->s, MPFR_RNDN);
            mpfr_div_2ui(w->r, w->r, 1, MPFR_RNDN);
            sign[i] = beside(w->r, p, error_of(w->r, precision), w->difference, distance);
        }
    }
    return sign[0] > 0 && sign[1] < 0;
}
#endif

static void note_hard(sbi_verdict *v, double distance, uint32_t input, uint32_t output) {
    if (v->hardest_count == SBI_HARDEST && distance >= v->hardest[SBI_HARDEST - 1].distance) {
        return;
    }
    int i = v->hardest_count < SBI_HARDEST ? v->hardest_count++ : SBI_HARDEST - 1;
    for (; i > 0 && v->hardest[i - 1].distance > distance; i--) {
        v->hardest[i] = v->hardest[i - 1];
    }
    v->hardest[i] = (sbi_hard_case){distance, input, output};
}

void sbi_verdict_add(sbi_verdict *to, const sbi_verdict *from) {
    if (!to->misrounded && from->misrounded) {
        to->wrong_input = from->wrong_input;
        to->wrong_output = from->wrong_output;
    }
    to->checked += from->checked;
    to->misrounded += from->misrounded;
    to->undecided += from->undecided;
    for (int i = 0; i < from->hardest_count; i++) {
        note_hard(to, from->hardest[i].distance, from->hardest[i].input, from->hardest[i].output);
    }
}

void sbi_judge(const sbi_judged *function, const uint32_t *inputs, const uint32_t *outputs, int64_t count,
               sbi_verdict *verdict) {
    int number = function->number;
#ifdef SBI_HAVE_MPFR
    scratch w;
    mpfr_inits2(64, w.x, w.r, w.s, w.difference, (mpfr_ptr)0);
#endif
    for (int64_t i = 0; i < count; i++) {
        uint32_t input = inputs[i], output = outputs[i], magnitude = output & 0x7fffffffu;
        double x = (double)float_of(input);
        bool negative = output >> 31, wrong = false, want_negative;
        double d;
        if (number == NORMAL) { // by symmetry in the lower half, where the value is negative
            uint32_t word = input >> 31 ? ~input : input;
            x = ((double)word + 0.5) * 0x1p-32;
            d = normal(x, (double)float_of(magnitude));
            want_negative = !(input >> 31);
        } else {
            d = evaluate(number, x, 0);
            want_negative = signbit(d);
        }
        if (magnitude > 0x7f800000u || isnan(d)) {
            wrong = !(isnan(d) && output == 0x7fc00000u);
        } else {
            double y = (double)float_of(magnitude); // the ties around it
            double low = magnitude ? 0.5 * (y + (double)float_of(magnitude - 1)) : -1;
            double high = magnitude < 0x7f7fffffu ? 0.5 * (y + (double)float_of(magnitude + 1)) : 0x1.ffffffp+127;
            if (magnitude == 0x7f800000u) {
                low = 0x1.ffffffp+127;
                high = HUGE_VAL;
            }
            double size = fabs(d), margin = size < 0x1p+1000 ? size * 0x1p-40 : 0;
            bool clear = size - margin > low && size + margin < high && negative == want_negative;
            clear = isinf(size) ? magnitude == 0x7f800000u && negative == want_negative : clear;
            if (!clear || (number == SILU_GRAD && silu_grad_cancels(x))) {
#ifdef SBI_HAVE_MPFR
                double distance = HUGE_VAL;
                verdict->checked++;
                wrong = number == NORMAL ? negative != want_negative || !normal_between(x, low, high, &w, &distance)
                                         : !exactly_between(number, x, low, high, negative, &w, &distance);
                if (number == NORMAL || fabs(x) > 0x1p-100) {
                    note_hard(verdict, distance, input, output);
                }
#else
                verdict->undecided++;
#endif
            }
        }
        if (wrong && !verdict->misrounded++) {
            verdict->wrong_input = input;
            verdict->wrong_output = output;
        }
    }
#ifdef SBI_HAVE_MPFR
    mpfr_clears(w.x, w.r, w.s, w.difference, (mpfr_ptr)0);
#endif
}
