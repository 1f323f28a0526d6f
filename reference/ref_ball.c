// SPDX-License-Identifier: Apache-2.0
// Real numbers to any precision, with the bound of their error carried along: a midpoint of n 64-bit limbs and a
// radius in binary64. Each operation truncates its midpoint toward zero, which costs less than one unit of the last
// limb (ulp), and adds that and the operands' errors to the radius. A radius is computed in binary64, a few
// operations at a time, each within 2^-53 of the truth, and then raised by 2^-40: it is never too small. Powers of
// two below 2^-1000 count as 2^-1000.
#include "reference.h"

#include <string.h>

static const double up = 1.0 + 0x1p-40;

static double power_of_two(int64_t k) {
    if (k > 1023)
        return ref_float64(0x7ff0000000000000u);
    return ref_float64((uint64_t)((k < -1000 ? -1000 : k) + 1023) << 52);
}

static double ulp(const ref_ball *x) {
    return power_of_two(x->exponent - 64 * x->n);
}

static double magnitude(const ref_ball *x) { // at least |midpoint|
    return x->sign ? power_of_two(x->exponent) : 0.0;
}

static ref_ball zero(int n) {
    ref_ball x;
    memset(&x, 0, sizeof x);
    x.n = n;
    return x;
}

// limb[n] shifted left by 0..63 bits, in place.
static void shift_left(uint64_t *limb, int n, int bits) {
    if (bits == 0)
        return;
    for (int i = n - 1; i > 0; i--)
        limb[i] = limb[i] << bits | limb[i - 1] >> (64 - bits);
    limb[0] <<= bits;
}

// sign 2^exponent limb[count] / 2^(64 count), brought to x's form with n limbs; bits below the last limb are dropped
// (less than one ulp, which the caller adds). Destroys limb.
static ref_ball normal(int n, int sign, int64_t exponent, uint64_t *limb, int count) {
    ref_ball x = zero(n);
    while (count > 0 && limb[count - 1] == 0) {
        count--;
        exponent -= 64;
    }
    if (count == 0)
        return x;
    int bits = __builtin_clzll(limb[count - 1]);
    shift_left(limb, count, bits);
    x.sign = sign;
    x.exponent = exponent - bits;
    for (int i = 0; i < n && i < count; i++)
        x.limb[n - 1 - i] = limb[count - 1 - i];
    return x;
}

ref_ball ref_ball_integer(int n, int64_t x) {
    uint64_t limb[1] = {x < 0 ? 0 - (uint64_t)x : (uint64_t)x};
    return normal(n, x < 0 ? -1 : 1, 64, limb, 1);
}

ref_ball ref_ball_double(int n, double x) {
    uint64_t bits = ref_bits64(x), limb[1] = {0};
    if (x != 0)
        limb[0] = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    return normal(n, x < 0 ? -1 : 1, (int64_t)(bits >> 52 & 2047) - 1075 + 64, limb, 1);
}

ref_ball ref_ball_float(int n, float x) {
    return ref_ball_double(n, (double)x); // exact, and never subnormal there
}

ref_ball ref_ball_fit(int n, const ref_ball *x) {
    uint64_t limb[REF_LIMBS];
    memcpy(limb, x->limb, sizeof limb);
    ref_ball y = normal(n, x->sign, x->exponent, limb, x->n);
    y.radius = x->radius;
    if (n < x->n)
        y.radius = (y.radius + ulp(&y)) * up;
    return y;
}

ref_ball ref_ball_negate(const ref_ball *x) {
    ref_ball y = *x;
    y.sign = -y.sign;
    return y;
}

ref_ball ref_ball_scale(const ref_ball *x, int64_t k) {
    ref_ball y = *x;
    y.exponent += k;
    if (y.radius != 0) {
        double scaled = y.radius * power_of_two(k);
        y.radius = scaled < power_of_two(-1000) ? power_of_two(-1000) : scaled;
    }
    return y;
}

static int compare_limbs(const uint64_t *a, const uint64_t *b, int n) {
    for (int i = n - 1; i >= 0; i--)
        if (a[i] != b[i])
            return a[i] > b[i] ? 1 : -1;
    return 0;
}

// The smaller operand is shifted down to the greater one's last limb (an error below one ulp of that) and a carry
// out drops one more bit (below one ulp of the result, two of the greater operand).
ref_ball ref_ball_add(const ref_ball *a, const ref_ball *b) {
    int n = a->n;
    ref_ball y;
    if (a->sign == 0 || b->sign == 0) {
        y = a->sign == 0 ? *b : *a;
        y.radius = (a->radius + b->radius) * up;
        return y;
    }
    if (a->exponent < b->exponent) {
        const ref_ball *t = a;
        a = b;
        b = t;
    }
    int64_t gap = a->exponent - b->exponent;
    uint64_t small[REF_LIMBS + 1] = {0}, sum[REF_LIMBS + 1] = {0};
    if (gap < 64 * n) {
        int limbs = (int)(gap / 64), bits = (int)(gap % 64);
        for (int i = 0; i + limbs < n; i++) {
            uint64_t low = b->limb[i + limbs], high = i + limbs + 1 < n ? b->limb[i + limbs + 1] : 0;
            small[i] = bits ? low >> bits | high << (64 - bits) : low;
        }
    }
    int sign = a->sign;
    if (a->sign == b->sign) {
        uint64_t carry = 0;
        for (int i = 0; i < n; i++) {
            ref_u128 t = (ref_u128)a->limb[i] + small[i] + carry;
            sum[i] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        sum[n] = carry;
    } else {
        const uint64_t *high = a->limb, *low = small;
        if (compare_limbs(high, low, n) < 0) { // only where the exponents are equal
            high = small;
            low = a->limb;
            sign = -sign;
        }
        uint64_t borrow = 0;
        for (int i = 0; i < n; i++) {
            ref_u128 t = (ref_u128)high[i] - low[i] - borrow;
            sum[i] = (uint64_t)t;
            borrow = (uint64_t)(t >> 64) & 1;
        }
    }
    y = normal(n, sign, a->exponent + 64, sum, n + 1);
    y.radius = (a->radius + b->radius + 4.0 * ulp(a)) * up;
    return y;
}

ref_ball ref_ball_subtract(const ref_ball *a, const ref_ball *b) {
    ref_ball minus = ref_ball_negate(b);
    return ref_ball_add(a, &minus);
}

// |(A + da)(B + db) - AB| <= |A| |db| + |B| |da| + |da| |db|.
ref_ball ref_ball_multiply(const ref_ball *a, const ref_ball *b) {
    int n = a->n;
    uint64_t product[2 * REF_LIMBS] = {0};
    for (int i = 0; i < n; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < n; j++) {
            ref_u128 t = (ref_u128)a->limb[i] * b->limb[j] + product[i + j] + carry;
            product[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        product[i + n] = carry;
    }
    ref_ball y = normal(n, a->sign * b->sign, a->exponent + b->exponent, product, 2 * n);
    y.radius = (magnitude(a) * b->radius + magnitude(b) * a->radius + a->radius * b->radius +
                (y.sign ? ulp(&y) : 0.0) + power_of_two(-1000)) * up;
    return y;
}

// |(A + da)/(B + db) - A/B| <= (|da| + |A/B| |db|) / (|B| - |db|); |B| >= 2^(exponent - 1). The quotient of the limbs
// as integers, bit by bit: floor(2^(64 n) A / B), A < 2 B.
ref_ball ref_ball_divide(const ref_ball *a, const ref_ball *b) {
    int n = a->n;
    uint64_t rest[REF_LIMBS + 1] = {0}, divisor[REF_LIMBS + 1] = {0}, quotient[REF_LIMBS + 1] = {0};
    memcpy(rest, a->limb, (size_t)n * sizeof *rest);
    memcpy(divisor, b->limb, (size_t)n * sizeof *divisor);
    for (int bit = 64 * n; bit >= 0; bit--) {
        if (compare_limbs(rest, divisor, n + 1) >= 0) {
            uint64_t borrow = 0;
            for (int i = 0; i <= n; i++) {
                ref_u128 t = (ref_u128)rest[i] - divisor[i] - borrow;
                rest[i] = (uint64_t)t;
                borrow = (uint64_t)(t >> 64) & 1;
            }
            quotient[bit / 64] |= (uint64_t)1 << bit % 64;
        }
        shift_left(rest, n + 1, 1);
    }
    ref_ball y = normal(n, a->sign * b->sign, a->exponent - b->exponent + 64, quotient, n + 1);
    double least = power_of_two(b->exponent - 1) - b->radius;
    if (!(least > 0)) {
        y.radius = power_of_two(1024);
        return y;
    }
    // (the quotient is cut at 2^-(64 n) of its own scale, then perhaps one bit more)
    y.radius = ((a->radius + magnitude(&y) * 2.0 * b->radius) / least + 2.0 * ulp(&y) +
                power_of_two(a->exponent - b->exponent - 64 * n)) * up;
    return y;
}

ref_ball ref_ball_divide_by(const ref_ball *a, uint32_t d) {
    int n = a->n;
    uint64_t quotient[REF_LIMBS + 1] = {0}, rest = 0; // one limb more than a, for the bits lost by a small quotient
    for (int i = n; i >= 0; i--) {
        uint64_t limb = i > 0 ? a->limb[i - 1] : 0;
        uint64_t high = rest << 32 | limb >> 32, low;
        rest = high % d;
        low = rest << 32 | (limb & 0xffffffffu);
        rest = low % d;
        quotient[i] = high / d << 32 | low / d;
    }
    ref_ball y = normal(n, a->sign, a->exponent, quotient, n + 1);
    y.radius = (a->radius / (double)d + (y.sign ? ulp(&y) : 0.0)) * up;
    return y;
}

int ref_ball_sign(const ref_ball *x) {
    if (x->sign == 0)
        return x->radius > 0 ? 2 : 0;
    return power_of_two(x->exponent - 1) > x->radius ? x->sign : 2; // (|midpoint| >= 2^(exponent - 1))
}

// limb[n + 1] 2^e to float32 or, wide, to float64: the leading 120 bits or so, and one more for whatever is below.
static double round_limbs(int sign, const uint64_t *limb, int n, int64_t e, int wide) {
    uint64_t part[REF_LIMBS + 1];
    memcpy(part, limb, (size_t)(n + 1) * sizeof *part);
    int top = n;
    while (top > 1 && part[top] == 0)
        top--;
    ref_u128 m = (ref_u128)part[top] << 64 | part[top - 1];
    uint64_t below = 0;
    for (int i = 0; i < top - 1; i++)
        below |= part[i];
    int spare = part[top] >> 62 ? 2 : 0; // room for the sticky bits
    below |= spare ? (uint64_t)m & 3 : 0;
    m >>= spare;
    m = m << (2 - spare) | (below != 0);
    e = e + 64 * (top - 1) - 2 + 2 * spare;
    return wide ? ref_round64(sign < 0, m, e) : (double)ref_round32(sign < 0, m, e);
}

// Decided where both ends of the interval round to one float. (After a cancellation limbs far below the radius go first.)
static int decide(const ref_ball *ball, int wide, double *out) {
    ref_ball fitting = *ball;
    const ref_ball *x = &fitting;
    if (ref_ball_sign(x) == 2)
        return 0;
    while (x->n > 2 && x->radius > ulp(x) * 0x1p60)
        fitting = ref_ball_fit(x->n - 1, x);
    if (x->sign == 0) {
        *out = 0.0;
        return 1;
    }
    double ulps = x->radius / ulp(x) * up + 2.0; // two more, for the conversion to an integer
    if (!(ulps < 0x1p62) || x->exponent - 64 * x->n < -990)
        return 0;
    uint64_t step = (uint64_t)ulps, low[REF_LIMBS + 1] = {0}, high[REF_LIMBS + 1] = {0};
    uint64_t carry = step, borrow = step;
    for (int i = 0; i < x->n; i++) {
        high[i] = x->limb[i] + carry;
        carry = high[i] < carry;
        low[i] = x->limb[i] - borrow;
        borrow = x->limb[i] < borrow;
    }
    high[x->n] = carry;
    double a = round_limbs(x->sign, low, x->n, x->exponent - 64 * x->n, wide);
    double b = round_limbs(x->sign, high, x->n, x->exponent - 64 * x->n, wide);
    *out = a;
    return ref_bits64(a) == ref_bits64(b);
}

int ref_ball_round32(const ref_ball *x, float *out) {
    double value = 0.0;
    int decided = decide(x, 0, &value);
    *out = (float)value;
    return decided;
}

int ref_ball_round64(const ref_ball *x, double *out) { return decide(x, 1, out); }

// Sum over j >= 0 of s^j z^(2j+1) / (2j+1), s = 1 for atanh and -1 for atan, z = 1/d.
static ref_ball inverse_tangent(int n, uint32_t d, int s) {
    ref_ball one = ref_ball_integer(n, 1), power = ref_ball_divide_by(&one, d), sum = power;
    for (uint32_t j = 1;; j++) {
        power = ref_ball_divide_by(&power, d * d);
        ref_ball term = ref_ball_divide_by(&power, 2 * j + 1);
        sum = s < 0 && j % 2 == 1 ? ref_ball_subtract(&sum, &term) : ref_ball_add(&sum, &term);
        if (term.exponent < -64 * n) { // what is left is less than the last term
            sum.radius = (sum.radius + magnitude(&term)) * up;
            return sum;
        }
    }
}

// log 2 = 2 atanh(1/3).
const ref_ball *ref_ball_log_two(int n) {
    static _Thread_local ref_ball kept[REF_LIMBS + 1];
    if (kept[n].n == 0) {
        ref_ball a = inverse_tangent(n, 3, 1);
        kept[n] = ref_ball_scale(&a, 1);
    }
    return &kept[n];
}

// pi = 16 atan(1/5) - 4 atan(1/239) (Machin).
const ref_ball *ref_ball_pi(int n) {
    static _Thread_local ref_ball kept[REF_LIMBS + 1];
    if (kept[n].n == 0) {
        ref_ball a = inverse_tangent(n, 5, -1), b = inverse_tangent(n, 239, -1);
        a = ref_ball_scale(&a, 4);
        b = ref_ball_scale(&b, 2);
        kept[n] = ref_ball_subtract(&a, &b);
    }
    return &kept[n];
}

// sqrt x: Newton's steps from binary64, and then the bound |y - sqrt x| = |x - y^2| / (y + sqrt x) <= |x - y^2| / y.
static ref_ball square_root(const ref_ball *x) {
    int n = x->n;
    ref_ball y = ref_ball_double(n, ref_sqrt64((double)x->limb[n - 1] * power_of_two(x->exponent - 64)));
    for (int bits = 50; bits < 64 * n; bits *= 2) {
        ref_ball other = ref_ball_divide(x, &y);
        y = ref_ball_add(&y, &other);
        y = ref_ball_scale(&y, -1);
        y.radius = 0;
    }
    ref_ball rest = ref_ball_multiply(&y, &y);
    rest = ref_ball_subtract(x, &rest);
    y.radius = (magnitude(&rest) + rest.radius) / power_of_two(y.exponent - 1) * up;
    return y;
}

// sqrt(times pi), times 1 or 2.
const ref_ball *ref_ball_root_pi(int n, int times) {
    static _Thread_local ref_ball kept[3][REF_LIMBS + 1];
    if (kept[times][n].n == 0) {
        ref_ball a = ref_ball_scale(ref_ball_pi(n), times - 1);
        kept[times][n] = square_root(&a);
    }
    return &kept[times][n];
}

// The integer nearest the midpoint (half away from zero) as an exact ball, and its low 62 bits with its sign.
static ref_ball nearest(const ref_ball *x, int64_t *low) {
    ref_ball half = ref_ball_scale(x, 0), point = ref_ball_scale(x, 0);
    half = ref_ball_integer(x->n, x->sign);
    half.exponent -= 1;
    point = ref_ball_add(x, &half);
    point.radius = 0;
    *low = 0;
    if (point.sign == 0 || point.exponent <= 0)
        return ref_ball_integer(x->n, 0);
    int64_t fraction = 64 * (int64_t)point.n - point.exponent; // bits behind the point
    for (int i = 0; i < point.n; i++) {
        if (64 * (i + 1) <= fraction)
            point.limb[i] = 0;
        else if (64 * i < fraction)
            point.limb[i] &= ~(((uint64_t)1 << (fraction - 64 * i)) - 1);
    }
    int limb = (int)(fraction / 64), bits = (int)(fraction % 64);
    uint64_t word = point.limb[limb] >> bits;
    if (bits && limb + 1 < point.n)
        word |= point.limb[limb + 1] << (64 - bits);
    *low = (int64_t)(word & 0x3fffffffffffffffu) * point.sign;
    return point;
}

// exp(x) = 2^k (exp(r / 2^8))^(2^8), r = x - k log 2; k is near x / log 2 (any k would do), so that |r| < 0.4; Taylor's
// series of |r| / 2^8 < 2^-9, whose rest is less than its last term. |x| < 2^20.
ref_ball ref_ball_exp(const ref_ball *x) {
    int n = x->n;
    const ref_ball *log_two = ref_ball_log_two(n);
    int64_t k = 0;
    ref_ball r = *x;
    if (x->sign && x->exponent > -2) {
        double about = (double)x->limb[n - 1] * power_of_two(x->exponent - 64) * 1.4426950408889634;
        k = x->sign * (int64_t)(about + 0.5);
        ref_ball whole = ref_ball_integer(n, k), part = ref_ball_multiply(&whole, log_two);
        r = ref_ball_subtract(x, &part);
    }
    r = ref_ball_scale(&r, -8);
    ref_ball sum = ref_ball_integer(n, 1), term = sum;
    for (uint32_t j = 1;; j++) {
        term = ref_ball_multiply(&term, &r);
        term = ref_ball_divide_by(&term, j);
        sum = ref_ball_add(&sum, &term);
        if (term.sign == 0 || term.exponent < -64 * n) {
            sum.radius = (sum.radius + magnitude(&term)) * up;
            break;
        }
    }
    for (int i = 0; i < 8; i++)
        sum = ref_ball_multiply(&sum, &sum);
    return ref_ball_scale(&sum, k);
}

// x = 2^k m, m in [3/4, 3/2): log x = k log 2 + 2 atanh(z), z = (m - 1)/(m + 1), |z| <= 1/5; the rest of the series
// after a term is less than that term.
ref_ball ref_ball_log(const ref_ball *x) {
    int n = x->n;
    int64_t k = x->limb[n - 1] < 0xc000000000000000u ? x->exponent - 1 : x->exponent;
    ref_ball m = ref_ball_scale(x, -k), one = ref_ball_integer(n, 1);
    ref_ball above = ref_ball_subtract(&m, &one), below = ref_ball_add(&m, &one);
    if (x->radius == 0 && x->limb[0] % 4 == 0) // both are exact: no bit is shifted out
        above.radius = below.radius = 0;
    ref_ball sum = above; // where it is zero, give or take its radius r < 1/2: |log(1 + r)| < 2 r
    if (above.sign) {
        ref_ball z = ref_ball_divide(&above, &below), square = ref_ball_multiply(&z, &z), power = z;
        sum = z;
        for (uint32_t j = 1;; j++) {
            power = ref_ball_multiply(&power, &square);
            ref_ball term = ref_ball_divide_by(&power, 2 * j + 1);
            sum = ref_ball_add(&sum, &term);
            if (term.exponent < sum.exponent - 64 * n) {
                sum.radius = (sum.radius + magnitude(&term)) * up;
                break;
            }
        }
    }
    sum = ref_ball_scale(&sum, 1);
    ref_ball whole = ref_ball_integer(n, k), part = ref_ball_multiply(&whole, ref_ball_log_two(n));
    if (k == 0)
        return sum;
    return ref_ball_add(&part, &sum);
}

// r = x - k pi/2, |r| < 0.8, with as many limbs more as x has binary digits before the point; then Taylor's series
// of sin or cos of r, whose rest is less than its last term. sin(k pi/2 + r): k mod 4 = 0: sin r, 1: cos r,
// 2: -sin r, 3: -cos r; cos x is sin(x + pi/2).
ref_ball ref_ball_sin(int n, float x, int cosine) {
    ref_ball wide = ref_ball_float(n, x), r = wide;
    int64_t k = 0;
    if (x != 0 && wide.exponent > -1) { // |x| >= 1/4
        int more = n + (wide.exponent > 0 ? (int)(wide.exponent + 63) / 64 : 0);
        wide = ref_ball_float(more, x);
        ref_ball quarter = ref_ball_scale(ref_ball_pi(more), -1), whole;
        if (wide.exponent < 20) { // k is near x / (pi/2): one more or less would do
            double about = (double)x * 0.6366197723675814;
            k = (int64_t)(about + (x < 0 ? -0.5 : 0.5));
            whole = ref_ball_integer(more, k);
        } else {
            ref_ball quotient = ref_ball_divide(&wide, &quarter);
            whole = nearest(&quotient, &k);
        }
        ref_ball part = ref_ball_multiply(&whole, &quarter);
        r = ref_ball_subtract(&wide, &part);
        r = ref_ball_fit(n, &r);
    }
    int quadrant = (int)((k + cosine) & 3);
    ref_ball square = ref_ball_multiply(&r, &r), sum = quadrant % 2 ? ref_ball_integer(n, 1) : r, term = sum;
    for (uint32_t j = quadrant % 2 ? 1 : 2; sum.sign; j += 2) {
        term = ref_ball_multiply(&term, &square);
        term = ref_ball_divide_by(&term, j * (j + 1));
        term.sign = -term.sign;
        sum = ref_ball_add(&sum, &term);
        if (term.sign == 0 || term.exponent < sum.exponent - 64 * n) {
            sum.radius = (sum.radius + magnitude(&term)) * up;
            break;
        }
    }
    return quadrant >= 2 ? ref_ball_negate(&sum) : sum;
}

// Sum over j >= 0 of q^j / (1 3 5 ... (2j+1)), q >= 0: with q = z^2, Phi(z) = 1/2 + z exp(-z^2 / 2) / sqrt(2 pi) times this.
// From j >= q on terms at least halve: the rest is less than the last.
ref_ball ref_ball_normal_series(const ref_ball *q) {
    int n = q->n;
    double most = magnitude(q);
    ref_ball sum = ref_ball_integer(n, 1), term = sum;
    for (uint32_t j = 1;; j++) {
        term = ref_ball_multiply(&term, q);
        term = ref_ball_divide_by(&term, 2 * j + 1);
        sum = ref_ball_add(&sum, &term);
        if (term.sign == 0 || (most <= (double)j && term.exponent < sum.exponent - 64 * n)) {
            sum.radius = (sum.radius + magnitude(&term)) * up;
            return sum;
        }
    }
}
