// SPDX-License-Identifier: Apache-2.0
// The rows of algorithms.def as tables, and the types of parameters: alternatives between bars, see there.
#include "learn.h"

#include <string.h>

typedef enum row_kind { ROW_ALGORITHM, ROW_PARAMETER, ROW_SURFACE, ROW_FITTED, ROW_KEPT, ROW_METHOD, ROW_PROOF } row_kind;
typedef struct def_row {
    row_kind kind;
    const char *algorithm, *text[5];
    sbi_method run;
    sbi_model_check check;
} def_row;

#define ALGORITHM(name, class_name, module, kind, input, about) \
    {ROW_ALGORITHM, #name, {#class_name, module, kind, input, about}, NULL, sbi_##name##_check},
#define PARAMETER(algorithm, name, type, value, about) {ROW_PARAMETER, #algorithm, {#name, type, value, about}, NULL, NULL},
#define SURFACE(algorithm, name, type, value, about) {ROW_SURFACE, #algorithm, {#name, type, value, about}, NULL, NULL},
#define FITTED(algorithm, name, dtype, shape, about) {ROW_FITTED, #algorithm, {#name, dtype, shape, about}, NULL, NULL},
#define KEPT(algorithm, name, dtype, shape, about) {ROW_KEPT, #algorithm, {#name, dtype, shape, about}, NULL, NULL},
#define METHOD(algorithm, name, dtype, shape, about) \
    {ROW_METHOD, #algorithm, {#name, dtype, shape, about}, sbi_##algorithm##_##name, NULL},
#define PROOF(algorithm, settings) {ROW_PROOF, #algorithm, {settings}, NULL, NULL},
static const def_row rows[] = {
#include "algorithms.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

int64_t sbi_algorithm_count(void) {
    int64_t count = 0;
    for (int i = 0; i < ROWS; i++) count += rows[i].kind == ROW_ALGORITHM;
    return count;
}

// The algorithm whose first row is number `at`. (test_learn holds that no list is longer than its place.)
static void gather_rows(int at, sbi_algorithm *out) {
    const char *const *t = rows[at].text;
    int parameters = 0, fitted = 0, methods = 0, proofs = 0;
    *out = (sbi_algorithm){.name = rows[at].algorithm, .class_name = t[0], .module = t[1], .kind = t[2], .input = t[3],
                           .about = t[4], .check = rows[at].check};
    for (int i = at + 1; i < ROWS && rows[i].kind != ROW_ALGORITHM; i++) {
        t = rows[i].text;
        switch (rows[i].kind) {
        case ROW_PARAMETER:
        case ROW_SURFACE:
            if (parameters < SBI_PARAMETERS - 1)
                out->parameters[parameters++] = (sbi_parameter_row){t[0], t[1], t[2], t[3], rows[i].kind == ROW_SURFACE};
            break;
        case ROW_FITTED:
        case ROW_KEPT:
            if (fitted < SBI_FITTED - 1) out->fitted[fitted++] = (sbi_fitted_row){t[0], t[1], t[2], t[3], rows[i].kind == ROW_KEPT};
            break;
        case ROW_METHOD:
            if (methods < SBI_METHODS - 1) out->methods[methods++] = (sbi_method_row){t[0], t[1], t[2], t[3], rows[i].run};
            break;
        case ROW_PROOF:
            if (proofs < SBI_PROOFS - 1) out->proofs[proofs++] = t[0];
            break;
        case ROW_ALGORITHM: break;
        }
    }
}

bool sbi_algorithm_at(int64_t index, sbi_algorithm *out) {
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].kind != ROW_ALGORITHM || index-- > 0) continue;
        gather_rows(i, out);
        return true;
    }
    return false;
}

bool sbi_algorithm_find(const char *name, sbi_algorithm *out) {
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].kind != ROW_ALGORITHM || strcmp(rows[i].algorithm, name) != 0) continue;
        gather_rows(i, out);
        return true;
    }
    return false;
}

bool sbi_row_has(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

bool sbi_takes_no_x(const char *method) { return strncmp(method, "get_", 4) == 0 || strncmp(method, "sample", 6) == 0; }

// ---- the types of parameters

// The next alternative of a type: its first character and its length; type then points behind it. False at the end.
static bool next_alternative(const char **type, const char **from, int *length) {
    const char *at = *type;
    while (*at == ' ' || *at == '|') at++;
    if (!*at) return false;
    const char *bar = strchr(at, '|'), *end = bar ? bar : at + strlen(at);
    *type = end;
    while (end > at && end[-1] == ' ') end--;
    *from = at;
    *length = (int)(end - at);
    return true;
}

static bool begins(const char *text, int length, const char *word) {
    int n = (int)strlen(word);
    return length >= n && memcmp(text, word, (size_t)n) == 0 && (length == n || text[n] == ' ');
}

// One end of an interval; an infinite one binds nothing.
static bool end_of(const char *text, int length, double *out) {
    if (length == 3 && memcmp(text, "inf", 3) == 0) return false;
    if (length == 4 && memcmp(text, "-inf", 4) == 0) return false;
    return sbi_real_parse(text, length, out);
}

// Whether x lies in the interval behind `int` or `real`; without one everything finite does, and infinity where it ends in inf].
static bool in_range(const char *range, int length, double x) {
    double low, high;
    while (length > 0 && *range == ' ') range++, length--;
    if (x != x) return false;
    if (x - x != 0.0 && !(x > 0.0 && length > 4 && memcmp(range + length - 4, "inf]", 4) == 0)) return false;
    if (length < 5) return true;
    const char *comma = memchr(range, ',', (size_t)length), *last = range + length - 1;
    if (!comma) return true;
    const char *second = comma + 1;
    while (*second == ' ') second++;
    if (end_of(range + 1, (int)(comma - range - 1), &low) && (*range == '(' ? !(x > low) : !(x >= low))) return false;
    return !(end_of(second, (int)(last - second), &high) && (*last == ')' ? !(x < high) : !(x <= high)));
}

static bool read_integer(const char *text, int64_t *out) {
    const bool negative = *text == '-';
    uint64_t x = 0;
    const char *at = text + negative;
    if (!*at) return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (x > (UINT64_C(1) << 62) / 10) return false;
        x = 10 * x + (uint64_t)(*at - '0');
    }
    *out = negative ? -(int64_t)x : (int64_t)x;
    return *at == 0;
}

static bool read_seed(const char *text, int64_t *out) { // all of 64 bits
    uint64_t x = 0;
    if (!*text) return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (x > (UINT64_MAX - digit) / 10) return false;
        x = 10 * x + digit;
    }
    *out = (int64_t)x;
    return *text == 0;
}

static bool read_real(const char *text, size_t length, double *out) {
    if (length == 3 && memcmp(text, "inf", 3) == 0) {
        *out = __builtin_inf();
        return true;
    }
    return sbi_real_parse(text, (int64_t)length, out);
}

// "0,1": as many as `wanted`, or where that is 0 any number of them that has room.
static bool read_numbers(const char *text, int wanted, sbi_value *out) {
    out->count = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (out->count == SBI_NUMBERS || !read_real(text, length, &out->numbers[out->count++])) return false;
        if (!text[length]) return wanted == 0 || out->count == wanted;
        text += length + 1;
    }
}

static bool read_alternative(const char *a, int length, const char *text, sbi_value *out) {
    *out = (sbi_value){.kind = SBI_NONE};
    if (begins(a, length, "none")) return strcmp(text, "none") == 0;
    if (begins(a, length, "bool")) {
        out->kind = SBI_BOOL;
        out->integer = strcmp(text, "true") == 0;
        return out->integer || strcmp(text, "false") == 0;
    }
    if (begins(a, length, "nan")) {
        out->kind = SBI_REAL;
        out->real = __builtin_nan("");
        return strcmp(text, "nan") == 0;
    }
    if (begins(a, length, "int")) {
        out->kind = SBI_INTEGER;
        if (!read_integer(text, &out->integer)) return false;
        out->real = (double)out->integer;
        return in_range(a + 3, length - 3, out->real);
    }
    if (begins(a, length, "real")) {
        out->kind = SBI_REAL;
        return read_real(text, strlen(text), &out->real) && in_range(a + 4, length - 4, out->real);
    }
    if (begins(a, length, "numbers")) {
        out->kind = SBI_LIST;
        return read_numbers(text, length > 8 ? a[8] - '0' : 0, out);
    }
    if (begins(a, length, "seed")) {
        out->kind = SBI_INTEGER;
        return read_seed(text, &out->integer);
    }
    if (*a == '\'' && length >= 2 && length - 2 < SBI_NAME) {
        out->kind = SBI_WORD;
        memcpy(out->word, a + 1, (size_t)length - 2);
        return strcmp(out->word, text) == 0;
    }
    if (begins(a, length, "dtype")) return strcmp(text, "float32") == 0 || strcmp(text, "float64") == 0; // (a value of Python's alone)
    return false; // an array is no text
}

sb_status sbi_value_read(const sbi_algorithm *algorithm, const sbi_parameter_row *row, const char *text, sbi_value *out, sb_error *err) {
    const char *type = row->type, *a;
    char shown[80];
    int length;
    while (next_alternative(&type, &a, &length))
        if (read_alternative(a, length, text, out)) return SB_OK;
    return sbi_fail(err, SB_ERR_ARGUMENT, row->name, "%s of %s is \"%s\"; expected %s", row->name, algorithm->name,
                    sbi_escape(text, strlen(text), shown, sizeof shown), row->type);
}

static void add_real(sbi_text *out, double x) {
    if (x - x == 0.0)
        sbi_text_add_real(out, x);
    else
        sbi_text_add(out, x != x ? "nan" : "inf");
}

void sbi_value_write(const sbi_value *value, sbi_text *out) {
    switch (value->kind) {
    case SBI_NONE: sbi_text_add(out, "none"); break;
    case SBI_BOOL: sbi_text_add(out, "%s", value->integer ? "true" : "false"); break;
    case SBI_INTEGER:
        if (value->integer < 0 && value->real >= 0.0)
            sbi_text_add(out, "%llu", (unsigned long long)value->integer); // a seed
        else
            sbi_text_add(out, "%lld", (long long)value->integer);
        break;
    case SBI_REAL: add_real(out, value->real); break;
    case SBI_LIST:
        for (int i = 0; i < value->count; i++) {
            if (i) sbi_text_add(out, ",");
            add_real(out, value->numbers[i]);
        }
        break;
    case SBI_WORD: sbi_text_add(out, "%s", value->word); break;
    case SBI_ARRAY: sbi_text_add(out, "array"); break;
    }
}

const char *sbi_row_array(const char *type) {
    const char *a, *at = type;
    int length;
    while (next_alternative(&at, &a, &length))
        if (begins(a, length, "array")) return a + 5 + (length > 5);
    return NULL;
}

// ---- what describe says of them

static void tell_members(sbi_text *json, const char *const *names, const char *const *values, int count) {
    for (int i = 0; i < count; i++) {
        sbi_text_add(json, "%s\"%s\": ", i ? ", " : "{", names[i]);
        sbi_text_add_json_string(json, values[i], (int64_t)strlen(values[i]));
    }
}

static void tell_algorithm(const sbi_algorithm *a, sbi_text *json) {
    static const char *const head[] = {"name", "class", "module", "kind", "input", "about"};
    static const char *const parameter[] = {"name", "type", "default", "about"}, *const array[] = {"name", "dtype", "shape", "about"};
    const char *const values[] = {a->name, a->class_name, a->module, a->kind, a->input, a->about};
    tell_members(json, head, values, 6);
    sbi_text_add(json, ",\n   \"parameters\": [");
    for (const sbi_parameter_row *p = a->parameters; p->name; p++) {
        const char *const told[] = {p->name, p->type, p->value, p->about};
        sbi_text_add(json, "%s\n    ", p == a->parameters ? "" : ",");
        tell_members(json, parameter, told, 4);
        sbi_text_add(json, ", \"surface\": %s}", p->surface ? "true" : "false");
    }
    sbi_text_add(json, "],\n   \"fitted\": [");
    for (const sbi_fitted_row *f = a->fitted; f->name; f++) {
        const char *const told[] = {f->name, f->dtype, f->shape, f->about};
        sbi_text_add(json, "%s\n    ", f == a->fitted ? "" : ",");
        tell_members(json, array, told, 4);
        sbi_text_add(json, ", \"kept\": %s}", f->kept ? "true" : "false");
    }
    sbi_text_add(json, "],\n   \"methods\": [");
    for (const sbi_method_row *m = a->methods; m->name; m++) {
        const char *const told[] = {m->name, m->dtype, m->shape, m->about};
        sbi_text_add(json, "%s\n    ", m == a->methods ? "" : ",");
        tell_members(json, array, told, 4);
        sbi_text_add(json, "}");
    }
    sbi_text_add(json, "]}");
}

void sbi_describe_algorithms(sbi_text *json, sbi_text *text) {
    sbi_algorithm a;
    sbi_text_add(json, "[");
    for (int64_t i = 0; sbi_algorithm_at(i, &a); i++) {
        sbi_text_add(json, "%s\n  ", i ? "," : "");
        tell_algorithm(&a, json);
        sbi_text_add(text, "  %-24s %s;", a.name, a.kind);
        for (const sbi_method_row *m = a.methods; m->name; m++) sbi_text_add(text, " %s", m->name);
        sbi_text_add(text, "\n");
    }
    sbi_text_add(json, "\n ]");
}
