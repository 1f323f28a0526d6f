// SPDX-License-Identifier: Apache-2.0
// bisect: reads two traces side by side and names the first operation that differs. Lines stand in an order that no
// schedule changes, and every line after the operations whose results it reads: so the first line that differs is where
// the difference began.
#include "report.h"
#include "trace_file.h"

#include <string.h>

enum { SAME, DIFFERENT, INCOMPARABLE = 3 };

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static bool same_form(const sbi_trace_array *a, const sbi_trace_array *b) {
    return same_text(a->dtype, b->dtype) && a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

static bool same_calls(const sbi_trace_record *a, const sbi_trace_record *b) {
    bool same = strcmp(a->op, b->op) == 0 && strcmp(a->parameters, b->parameters) == 0 && !a->real == !b->real;
    for (int list = 0; list < SBI_TRACE_LISTS; list++) {
        same = same && a->counts[list] == b->counts[list];
        for (int i = 0; same && i < a->counts[list]; i++) same = same_form(&a->arrays[list][i], &b->arrays[list][i]);
    }
    return same;
}

// How many arrays of a list differ, the form of both being the same.
static int differing(const sbi_trace_record *a, const sbi_trace_record *b, int list) {
    int count = 0;
    for (int i = 0; i < a->counts[list]; i++) count += !same_text(a->arrays[list][i].sha256, b->arrays[list][i].sha256);
    return count;
}

// ---- what is told

static void tell_form(sb_report *report, const sbi_trace_array *a) {
    sbi_text_add(&report->text, "%s[", a->dtype);
    for (int axis = 0; axis < a->ndim; axis++) sbi_text_add(&report->text, axis ? ",%lld" : "%lld", (long long)a->shape[axis]);
    sbi_text_add(&report->text, "]");
}

static void tell_array(sb_report *report, const char *list, int i, const sbi_trace_array *a, const char *other) {
    sbi_text_add(&report->text, "  %-4s %d  ", list, i);
    tell_form(report, a);
    sbi_text_add(&report->text, "  %s", a->sha256);
    if (!same_text(a->sha256, other)) sbi_text_add(&report->text, " in the first, %s in the second", other);
    sbi_text_add(&report->text, "\n");
}

static void tell_arrays(sb_report *report, const sbi_trace_record *a, const sbi_trace_record *b, int list) {
    sbi_text *json = &report->json;
    sbi_text_add(json, ",\n \"%s\": [", sbi_trace_lists[list]);
    for (int i = 0; i < a->counts[list]; i++) {
        const sbi_trace_array *x = &a->arrays[list][i], *y = &b->arrays[list][i];
        sbi_text_add(json, "%s", i ? ", " : "");
        if (!x->dtype) {
            sbi_text_add(json, "null");
            continue;
        }
        tell_array(report, sbi_trace_lists[list], i, x, y->sha256);
        sbi_text_add(json, "{");
        sbi_report_member(json, true, "dtype", x->dtype);
        sbi_text_add(json, ", \"shape\": [");
        for (int axis = 0; axis < x->ndim; axis++) sbi_text_add(json, axis ? ", %lld" : "%lld", (long long)x->shape[axis]);
        sbi_text_add(json, "]");
        sbi_report_member(json, false, "a", x->sha256);
        sbi_report_member(json, false, "b", y->sha256);
        sbi_text_add(json, "}");
    }
    sbi_text_add(json, "]");
}

static void tell_call(sb_report *report, const char *which, const sbi_trace_record *r) {
    sbi_text_add(&report->text, "  the %s: %s at %s, %s", which, r->op, r->at, r->parameters);
    for (int list = 0; list < SBI_TRACE_LISTS; list++) {
        if (r->counts[list]) sbi_text_add(&report->text, ", %s", sbi_trace_lists[list]);
        for (int i = 0; i < r->counts[list]; i++) {
            sbi_text_add(&report->text, " ");
            if (r->arrays[list][i].dtype) tell_form(report, &r->arrays[list][i]);
            else sbi_text_add(&report->text, "none");
        }
    }
    sbi_text_add(&report->text, "%s\n", r->real ? ", a number" : "");
}

// Where two lines differ: what it means, and the operation.
static void tell_difference(sb_report *report, const sbi_trace_record *a, const sbi_trace_record *b) {
    const char *kind = "operation";
    report->verdict = DIFFERENT;
    if (strcmp(a->at, b->at) != 0 || !same_calls(a, b)) {
        sbi_text_add(&report->text, "another operation, or other shapes or numbers: the two runs do not do the same from here on\n");
        tell_call(report, "first", a);
        tell_call(report, "second", b);
    } else {
        int before = differing(a, b, SBI_TRACE_IN) + differing(a, b, SBI_TRACE_KEPT);
        kind = before ? "input" : "result";
        sbi_text_add(&report->text, "%s at %s, %s\n", a->op, a->at, a->parameters);
        sbi_text_add(&report->text, before ? "its inputs differ, and every result before is the same: they were changed between operations "
                                             "(data, files, memory)\n"
                                           : "its inputs are the same and its result is not: this operation went wrong\n");
    }
    sbi_report_member(&report->json, false, "kind", kind);
    sbi_report_member(&report->json, false, "at", a->at);
    sbi_report_member(&report->json, false, "operation", a->op);
    sbi_report_member(&report->json, false, "parameters", a->parameters);
    if (strcmp(kind, "operation") == 0) {
        sbi_report_member(&report->json, false, "other_at", b->at);
        sbi_report_member(&report->json, false, "other_operation", b->op);
        sbi_report_member(&report->json, false, "other_parameters", b->parameters);
        return;
    }
    for (int list = 0; list < SBI_TRACE_LISTS; list++) tell_arrays(report, a, b, list);
    if (a->real) {
        sbi_text_add(&report->text, "  real    %s in the first, %s in the second\n", a->real, b->real);
        sbi_report_member(&report->json, false, "real_a", a->real);
        sbi_report_member(&report->json, false, "real_b", b->real);
    }
}

static bool differ(const sbi_trace_record *a, const sbi_trace_record *b) {
    bool same = strcmp(a->at, b->at) == 0 && same_calls(a, b) && same_text(a->real, b->real);
    for (int list = 0; list < SBI_TRACE_LISTS; list++) same = same && differing(a, b, list) == 0;
    return !same;
}

static sb_status compare(sbi_trace_file *a, sbi_trace_file *b, sb_report *report, sb_error *err) {
    static const char *const verdicts[] = {"SAME", "DIFFERENT", "", "INCOMPARABLE"};
    sbi_trace_record x, y;
    int64_t same = 0;
    bool end_a = false, end_b = false, found = a->contract != b->contract;
    sb_status status = SB_OK;
    sbi_text_add(&report->json, "{\"samebits\": \"bisection\", \"format\": 1");
    if (found) {
        sbi_text_add(&report->text, "the traces follow different versions of the contract\n");
        report->verdict = INCOMPARABLE;
    }
    for (; !found && !end_a && !end_b; same++) {
        status = sbi_trace_file_next(a, &x, &end_a, err);
        if (status == SB_OK) status = sbi_trace_file_next(b, &y, &end_b, err);
        if (status != SB_OK) return status;
        if (end_a || end_b) break;
        if ((found = differ(&x, &y))) {
            sbi_text_add(&report->text, "line %lld, after %lld operations that are the same: ", (long long)a->line, (long long)same);
            tell_difference(report, &x, &y);
            break;
        }
    }
    if (!found && end_a != end_b) {
        sbi_text_add(&report->text, "%lld operations are the same, then the %s trace ends and the other goes on\n", (long long)same,
                     end_a ? "first" : "second");
        report->verdict = INCOMPARABLE;
    } else if (!found) {
        if (same == 0) report->verdict = INCOMPARABLE; // nothing compared is no agreement
        sbi_text_add(&report->text, "%lld operations%s\n", (long long)same, same ? ", all the same" : " in either trace");
    }
    sbi_text_add(&report->json, ",\n \"same\": %lld", (long long)same);
    sbi_report_member(&report->json, false, "verdict", verdicts[report->verdict]);
    sbi_text_add(&report->json, "}\n");
    sbi_text_add(&report->text, "%s\n", verdicts[report->verdict]);
    return SB_OK;
}

sb_status sbi_bisect(const char *a, const char *b, sb_report **out, sb_error *err) {
    sbi_trace_file one = {0}, other = {0};
    sb_report *report = sbi_report_new(err);
    sb_status status = report ? sbi_named(sbi_trace_file_open(a, &one, err), "a", err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_named(sbi_trace_file_open(b, &other, err), "b", err);
    if (status == SB_OK) status = compare(&one, &other, report, err);
    if (status == SB_OK)
        status = sbi_report_give(report, out, err);
    else
        sbi_report_free(report);
    sbi_trace_file_close(&one);
    sbi_trace_file_close(&other);
    return status;
}
