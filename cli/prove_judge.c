// SPDX-License-Identifier: Apache-2.0
// The judge of `samebits prove`. (It uses <math.h>: nothing here reaches a bit of a result.)
//
// A float y is right for x if the exact f(x) lies between the two ties around y (for a zero: below half the least
// subnormal, with its sign; for an infinity: beyond the last tie). The host's double evaluation d decides where it is
// further than 2^-40 |d| from both ties, much further than any double function here errs (prove_estimate.c); everything
// nearer, every disagreement, and all arguments where d loses its relative accuracy go to MPFR, with more and more bits
// until the exact value's interval lies on one side. f(x) is no tie itself but for exp2(-150): an undecided tie at 8192
// bits counts as wrong. Tiny arguments of functions near x/2, where x/2 may be a tie, are decided by their first terms.
#include "prove_judge.h"

#include "prove_estimate.h"

#include <math.h>
#include <string.h>

#ifdef SBI_HAVE_MPFR
#include <mpfr.h>
const bool sbi_judge_has_mpfr = true;
#else
const bool sbi_judge_has_mpfr = false;
#endif

const sbi_judged sbi_judged_functions[] = {
    {"exp", SB_EXP, SBI_J_EXP},
    {"log", SB_LOG, SBI_J_LOG},
    {"sin", SB_SIN, SBI_J_SIN},
    {"cos", SB_COS, SBI_J_COS},
    {"rsqrt", SB_RSQRT, SBI_J_RSQRT},
    {"sigmoid", SB_SIGMOID, SBI_J_SIGMOID},
    {"silu", SB_SILU, SBI_J_SILU},
    {"silu_grad", SB_SILU_GRAD, SBI_J_SILU_GRAD},
    {"normal", SB_INVERSE_NORMAL, SBI_J_NORMAL},
    {"tanh", SB_TANH, SBI_J_TANH},
    {"expm1", SB_EXPM1, SBI_J_EXPM1},
    {"log1p", SB_LOG1P, SBI_J_LOG1P},
    {"exp2", SB_EXP2, SBI_J_EXP2},
    {"log2", SB_LOG2, SBI_J_LOG2},
    {"log10", SB_LOG10, SBI_J_LOG10},
    {"erf", SB_ERF, SBI_J_ERF},
    {"erfc", SB_ERFC, SBI_J_ERFC},
    {"softplus", SB_SOFTPLUS, SBI_J_SOFTPLUS},
    {"log_sigmoid", SB_LOG_SIGMOID, SBI_J_LOG_SIGMOID},
    {"gelu", SB_GELU, SBI_J_GELU},
    {"gelu_tanh", SB_GELU_TANH, SBI_J_GELU_TANH},
    {"gelu_grad", SB_GELU_GRAD, SBI_J_GELU_GRAD},
    {"gelu_tanh_grad", SB_GELU_TANH_GRAD, SBI_J_GELU_TANH_GRAD},
    {NULL, SB_EXP, -1},
};

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// ---------------------------------------------------------------- MPFR

#ifdef SBI_HAVE_MPFR
typedef struct scratch {
    mpfr_t x, r, s, t, difference;
} scratch;

// r = log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
static void softplus(mpfr_t r, mpfr_t x) {
    mpfr_abs(r, x, MPFR_RNDN);
    mpfr_neg(r, r, MPFR_RNDN);
    mpfr_exp(r, r, MPFR_RNDN);
    mpfr_log1p(r, r, MPFR_RNDN);
    if (mpfr_sgn(x) > 0) {
        mpfr_add(r, r, x, MPFR_RNDN);
    }
}

// r = Phi(x) = erfc(-x / sqrt 2) / 2
static void normal_distribution(mpfr_t r, mpfr_t x) {
    mpfr_sqrt_ui(r, 2, MPFR_RNDN);
    mpfr_div(r, x, r, MPFR_RNDN);
    mpfr_neg(r, r, MPFR_RNDN);
    mpfr_erfc(r, r, MPFR_RNDN);
    mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}

// w->t = x phi(x) = x e^(-x^2 / 2) / sqrt(2 pi)
static void normal_density(scratch *w) {
    mpfr_sqr(w->t, w->x, MPFR_RNDN);
    mpfr_div_si(w->t, w->t, -2, MPFR_RNDN);
    mpfr_exp(w->t, w->t, MPFR_RNDN);
    mpfr_mul(w->t, w->t, w->x, MPFR_RNDN);
    mpfr_const_pi(w->s, MPFR_RNDN);
    mpfr_mul_2ui(w->s, w->s, 1, MPFR_RNDN);
    mpfr_sqrt(w->s, w->s, MPFR_RNDN);
    mpfr_div(w->t, w->t, w->s, MPFR_RNDN);
}

// out = 2 sqrt(2 / pi) (x + k 44715/10^6 x^3); k = 1: the argument y of gelu-tanh; k = 3: x y'. Uses w->r.
static void gelu_argument(scratch *w, mpfr_t out, unsigned k) {
    mpfr_sqr(out, w->x, MPFR_RNDN);
    mpfr_mul_ui(out, out, k * 44715, MPFR_RNDN);
    mpfr_div_ui(out, out, 1000000, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
    mpfr_mul(out, out, w->x, MPFR_RNDN);
    mpfr_const_pi(w->r, MPFR_RNDN);
    mpfr_ui_div(w->r, 8, w->r, MPFR_RNDN);
    mpfr_sqrt(w->r, w->r, MPFR_RNDN);
    mpfr_mul(out, out, w->r, MPFR_RNDN);
}

// w->s = 1 / (1 + e^-w->s)
static void sigmoid_in_place(scratch *w) {
    mpfr_neg(w->s, w->s, MPFR_RNDN);
    mpfr_exp(w->s, w->s, MPFR_RNDN);
    mpfr_add_ui(w->s, w->s, 1, MPFR_RNDN);
    mpfr_ui_div(w->s, 1, w->s, MPFR_RNDN);
}

// w->r = w->s (1 + w->t (1 - w->s)): the derivative of x s(y), where t = x y'
static void sigmoid_product_slope(scratch *w) {
    mpfr_ui_sub(w->r, 1, w->s, MPFR_RNDN);
    mpfr_mul(w->r, w->r, w->t, MPFR_RNDN);
    mpfr_add_ui(w->r, w->r, 1, MPFR_RNDN);
    mpfr_mul(w->r, w->r, w->s, MPFR_RNDN);
}

// w->r = the function of w->x.
static void evaluate_exactly(int number, scratch *w) {
    switch (number) {
    case SBI_J_EXP: mpfr_exp(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_LOG: mpfr_log(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_SIN: mpfr_sin(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_COS: mpfr_cos(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_RSQRT: mpfr_rec_sqrt(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_TANH: mpfr_tanh(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_EXPM1: mpfr_expm1(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_LOG1P: mpfr_log1p(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_EXP2: mpfr_exp2(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_LOG2: mpfr_log2(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_LOG10: mpfr_log10(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_ERF: mpfr_erf(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_ERFC: mpfr_erfc(w->r, w->x, MPFR_RNDN); break;
    case SBI_J_SOFTPLUS: softplus(w->r, w->x); break;
    case SBI_J_LOG_SIGMOID: // -softplus(-x)
        mpfr_neg(w->s, w->x, MPFR_RNDN);
        softplus(w->r, w->s);
        mpfr_neg(w->r, w->r, MPFR_RNDN);
        break;
    case SBI_J_GELU:
        normal_distribution(w->r, w->x);
        mpfr_mul(w->r, w->r, w->x, MPFR_RNDN);
        break;
    case SBI_J_GELU_GRAD:
        normal_density(w);
        normal_distribution(w->r, w->x);
        mpfr_add(w->r, w->r, w->t, MPFR_RNDN);
        break;
    case SBI_J_GELU_TANH:
        gelu_argument(w, w->s, 1);
        sigmoid_in_place(w);
        mpfr_mul(w->r, w->x, w->s, MPFR_RNDN);
        break;
    case SBI_J_GELU_TANH_GRAD:
        gelu_argument(w, w->s, 1);
        sigmoid_in_place(w);
        gelu_argument(w, w->t, 3);
        sigmoid_product_slope(w);
        break;
    default: // sigmoid, silu, silu'
        mpfr_set(w->s, w->x, MPFR_RNDN);
        mpfr_set(w->t, w->x, MPFR_RNDN);
        sigmoid_in_place(w);
        if (number == SBI_J_SIGMOID) {
            mpfr_set(w->r, w->s, MPFR_RNDN);
        } else if (number == SBI_J_SILU) {
            mpfr_mul(w->r, w->x, w->s, MPFR_RNDN);
        } else {
            sigmoid_product_slope(w);
        }
        break;
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
        mpfr_set_prec(w->t, precision);
        mpfr_set_prec(w->difference, precision);
        mpfr_set_d(w->x, x, MPFR_RNDN);
        evaluate_exactly(number, w);
        if ((mpfr_signbit(w->r) != 0) != negative) {
            return false;
        }
        mpfr_abs(w->r, w->r, MPFR_RNDN);
        long error = sbi_estimate_cancels(number, x) ? 16 - precision : error_of(w->r, precision);
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

// f(x) = x/2 + c x^2 + ..., between x/2 and x/2 + x^2: for |x| < 2^-100, where the ties and x/2 lie on a grid coarser than
// 2^50 x^2, it is beside a tie as x/2 is, or just above where x/2 is one.
static bool halves(int number, double x) {
    return (number == SBI_J_SILU || number == SBI_J_GELU || number == SBI_J_GELU_TANH) && fabs(x) < 0x1p-100;
}

static bool half_is_right(double x, double low, double high, bool negative) {
    double half = 0.5 * fabs(x);
    return negative == (signbit(x) != 0) && (x > 0 ? low <= half && half < high : x < 0 ? low < half && half <= high : low < 0);
}

void sbi_judge(const sbi_judged *function, const uint32_t *inputs, const uint32_t *outputs, int64_t count,
               sbi_verdict *verdict) {
    enum { MOST = 2048 };
    double values[MOST];
    uint8_t clear[MOST];
    const int number = function->number;
    const bool cancels = sbi_estimate_cancels(number, (double)NAN);
#ifdef SBI_HAVE_MPFR
    scratch w;
    mpfr_inits2(64, w.x, w.r, w.s, w.t, w.difference, (mpfr_ptr)0);
#endif
    for (int64_t first = 0; first < count; first += MOST) {
        int64_t n = count - first < MOST ? count - first : MOST;
        sbi_estimate(number, inputs + first, outputs + first, n, values);
        sbi_estimate_clear(outputs + first, values, n, clear);
        for (int64_t i = 0; i < n; i++) {
            if (clear[i] && !cancels) {
                continue;
            }
            uint32_t input = inputs[first + i], output = outputs[first + i], magnitude = output & 0x7fffffffu;
            double x = (double)float_of(input);
            if (clear[i] && !sbi_estimate_cancels(number, x)) {
                continue;
            }
            bool negative = output >> 31, wrong;
            double y = (double)float_of(magnitude); // the ties around it
            double low = magnitude ? 0.5 * (y + (double)float_of(magnitude - 1)) : -1;
            double high = magnitude < 0x7f7fffffu ? 0.5 * (y + (double)float_of(magnitude + 1)) : 0x1.ffffffp+127;
            if (magnitude == 0x7f800000u) {
                low = 0x1.ffffffp+127;
                high = HUGE_VAL;
            }
            if (magnitude > 0x7f800000u || isnan(values[i])) {
                wrong = !(isnan(values[i]) && output == 0x7fc00000u);
            } else if (isinf(values[i])) {
                wrong = magnitude != 0x7f800000u || negative != (signbit(values[i]) != 0);
            } else if (halves(number, x)) {
                wrong = !half_is_right(x, low, high, negative);
            } else if (number == SBI_J_EXP2 && x == -150) { // the only tie of any function here: to even
                wrong = output != 0;
            } else {
#ifdef SBI_HAVE_MPFR
                double distance = HUGE_VAL;
                verdict->checked++;
                if (number == SBI_J_NORMAL) { // by symmetry in the lower half
                    double p = ((double)(input >> 31 ? ~input : input) + 0.5) * 0x1p-32;
                    wrong = negative == (input >> 31) || !normal_between(p, low, high, &w, &distance);
                } else {
                    wrong = !exactly_between(number, x, low, high, negative, &w, &distance);
                }
                if (number == SBI_J_NORMAL || fabs(x) > 0x1p-100) {
                    note_hard(verdict, distance, input, output);
                }
#else
                wrong = false;
                verdict->undecided++;
#endif
            }
            if (wrong && !verdict->misrounded++) {
                verdict->wrong_input = input;
                verdict->wrong_output = output;
            }
        }
    }
#ifdef SBI_HAVE_MPFR
    mpfr_clears(w.x, w.r, w.s, w.t, w.difference, (mpfr_ptr)0);
#endif
}
