// SPDX-License-Identifier: Apache-2.0
// doctor: what this machine, this build and this process are, and whether what they compute conforms.
#include "device.h"
#include "probe.h"
#include "report.h"

#include <string.h>

// ---- the compiler's work, seen at run time (volatile: nothing is computed while compiling)

typedef struct canary { const char *name, *meaning; bool good; } canary;

static bool not_contracted(void) { // x x - y with one rounding is not 0
    volatile float x = 0x1.000002p0f, y = 0x1.000004p0f;
    volatile float d = x * x - y;
    volatile double u = 0x1.0000000000001p0, v = 0x1.0000000000002p0;
    volatile double e = u * u - v;
    return d == 0.0f && e == 0.0;
}

static bool not_reassociated(void) {
    volatile float big = 0x1p24f, one = 1.0f;
    float a = big, b = one, sum = 0.0f;
    sum = (a + b) + b; // 2^24, where a + (b + b) is 2^24 + 2
    volatile float terms[4] = {0x1p24f, 1.0f, 1.0f, -0x1p24f};
    float total = 0.0f;
    for (int i = 0; i < 4; i++) {
        total = total + terms[i];
    }
    return sum == 0x1p24f && total == 0.0f;
}

static bool flushes(void) {
    volatile float smallest = 0x1p-126f, half = 0.5f, tiny = 0x1p-149f, large = 0x1p100f;
    volatile float below = smallest * half, again = tiny * large;
    volatile double least = 0x1p-1022, less = least * 0.5;
    return below == 0.0f || again == 0.0f || less == 0.0;
}

static bool rounds_to_nearest(void) { // 1 + 3/4 ulp and 1 + 1/4 ulp, both signs
    volatile float one = 1.0f, more = 0x1.8p-24f, little = 0x1p-25f;
    return one + more == 0x1.000002p0f && one + little == 1.0f && -one - more == -0x1.000002p0f && -one - little == -1.0f;
}

static bool evaluates_in_type(void) { // FLT_EVAL_METHOD 0: no excess precision kept in an expression
    volatile float third = 3.0f, one = 1.0f;
    return (one / third) * third == 1.0f && (double)(one / third) == 0x1.555556p-2;
}

static bool nan_compares(void) {
    volatile float zero = 0.0f;
    float nan = zero / zero;
    return nan != nan && !(nan == nan) && !(nan < 1.0f) && !(nan > 1.0f);
}

// ---- the report

static void line(sb_report *report, const char *name, const char *value) {
    sbi_text_add(&report->text, "%-22s %s\n", name, value);
}

static void describe_levels(sb_report *report, const char *chosen) {
    sbi_text_add(&report->text, "%-22s", "levels");
    sbi_text_add(&report->json, ",\n \"levels\": [");
    for (int i = 0; sbi_kernel_levels[i]; i++) {
        const char *level = sbi_kernel_levels[i]->level;
        bool usable = sbi_cpu_level_usable(level);
        sbi_text_add(&report->text, " %s%s", level, strcmp(level, chosen) == 0 ? " (chosen)" : usable ? "" : " (built, not usable here)");
        sbi_text_add(&report->json, "%s{", i ? ", " : "");
        sbi_report_member(&report->json, true, "level", level);
        sbi_text_add(&report->json, ", \"usable\": %s}", usable ? "true" : "false");
    }
    sbi_text_add(&report->text, "\n");
    sbi_text_add(&report->json, "]");
    sbi_report_member(&report->json, false, "chosen", chosen);
}

static bool describe_canaries(sb_report *report) {
    const canary canaries[] = {
        {"contraction", "x * y + z is two roundings", not_contracted()},
        {"reassociation", "sums stay in their order", not_reassociated()},
        {"flush", "subnormals are kept", !flushes()},
        {"rounding", "to nearest even", rounds_to_nearest()},
        {"evaluation", "float is computed in float", evaluates_in_type()},
        {"nan", "a NaN equals nothing", nan_compares()},
    };
    bool good = true;
    sbi_text_add(&report->json, ",\n \"canary\": {");
    for (size_t i = 0; i < sizeof canaries / sizeof canaries[0]; i++) {
        sbi_text_add(&report->text, "%-22s %-14s %s: %s\n", i ? "" : "compiler's canary", canaries[i].name,
                     canaries[i].good ? "ok" : "WRONG", canaries[i].meaning);
        sbi_text_add(&report->json, "%s\"%s\": %s", i ? ", " : "", canaries[i].name, canaries[i].good ? "true" : "false");
        good = good && canaries[i].good;
    }
    sbi_text_add(&report->json, "}");
    return good;
}

static bool describe_probes(sb_report *report, const char *device, const char *level, const sbi_probe *probes) {
    bool good = true;
    int64_t cases = 0;
    sbi_text_add(&report->json, "{");
    sbi_report_member(&report->json, true, "device", device);
    sbi_report_member(&report->json, false, "level", level);
    for (int i = 0; i < SBI_PROBES; i++) {
        cases += probes[i].cases;
        sbi_text_add(&report->json, ", \"%s\": {\"cases\": %lld, \"wrong\": %lld", probes[i].name, (long long)probes[i].cases,
                     (long long)probes[i].wrong);
        if (probes[i].wrong) {
            sbi_report_member(&report->json, false, "first", probes[i].first);
            sbi_text_add(&report->text, "%-22s %s %s: %lld of %lld WRONG (%s)\n", "probe", device, level, (long long)probes[i].wrong,
                         (long long)probes[i].cases, probes[i].first);
            good = false;
        }
        sbi_text_add(&report->json, "}");
    }
    sbi_text_add(&report->json, "}");
    if (good) {
        sbi_text_add(&report->text, "%-22s %s, level %s: %lld hostile cases of %d kinds, all as exact integers give them\n", "conformance",
                     device, level, (long long)cases, SBI_PROBES);
    }
    return good;
}

// A context on one level, and its probes.
static sb_status probe_level(sb_report *report, const char *level, bool first, bool *good, sb_error *err) {
    const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = level, .threads = 1};
    sbi_probe probes[SBI_PROBES];
    sb_context *ctx = NULL;
    sb_status status = sb_context_new(&options, &ctx, err);
    if (status == SB_OK) {
        status = sbi_probe_device(ctx, probes, err);
    }
    if (status == SB_OK) {
        sbi_text_add(&report->json, "%s\n  ", first ? "" : ",");
        *good = describe_probes(report, sb_context_device(ctx), level, probes) && *good;
    }
    sb_context_free(ctx);
    return status;
}

static const char *yes(bool value) { return value ? "true" : "false"; }

// ---- other devices: each is opened, which probes it; one that is refused cannot be used, and takes nothing from the CPU

static sb_status describe_device(void *user, const sbi_device_facts *facts, sb_error *err) {
    sb_report *report = user;
    sb_error why = {.status = SB_OK};
    sb_context *ctx = NULL;
    const sb_context_options options = {.size = sizeof options, .device = facts->name, .threads = 1, .trace = ""};
    const bool good = sb_context_new(&options, &ctx, &why) == SB_OK, first = report->json.length && report->json.bytes[report->json.length - 1] == '[';
    sb_context_free(ctx);
    if (why.status == SB_ERR_MEMORY) return sbi_fail(err, why.status, "", "%s", why.message);
    sbi_text_add(&report->text, "%-22s %s %s (%s, driver %s), %.1f GiB, %s float64, %s 64-bit atomics: %s\n", "device", facts->name, facts->product,
                 facts->platform, facts->driver, (double)facts->memory * 0x1p-30, facts->float64 ? "with" : "without",
                 facts->atomics64 ? "with" : "without", good ? "conforms" : "REFUSED");
    if (!good) sbi_text_add(&report->text, "%-22s   %s\n", "", why.message);
    sbi_text_add(&report->json, "%s\n  {", first ? "" : ",");
    sbi_report_member(&report->json, true, "name", facts->name);
    sbi_report_member(&report->json, false, "product", facts->product);
    sbi_report_member(&report->json, false, "platform", facts->platform);
    sbi_report_member(&report->json, false, "driver", facts->driver);
    sbi_text_add(&report->json, ", \"memory\": %lld, \"float64\": %s, \"atomics64\": %s, \"conforms\": %s", (long long)facts->memory,
                 yes(facts->float64), yes(facts->atomics64), yes(good));
    if (!good) sbi_report_member(&report->json, false, "refused", why.message);
    sbi_text_add(&report->json, "}");
    return SB_OK;
}

sb_status sbi_doctor(sb_report **out, sb_error *err) {
    bool caller_nearest = rounds_to_nearest(), caller_flushes = flushes(); // before anything sets what the contract needs
    const sbi_fpenv before = sbi_fpenv_enter();
    bool good = true, first = true;
    sb_context *ctx = NULL;
    sb_report *report = sbi_report_new(err);
    sb_status status = report ? sb_context_new(NULL, &ctx, err) : SB_ERR_MEMORY;
    if (status != SB_OK) {
        sbi_report_free(report);
        sbi_fpenv_leave(before);
        return status;
    }
    sbi_text_add(&report->text, "%-22s %s, contract %d, commit %s\n", "samebits", sb_version(), SB_CONTRACT, sb_commit());
    sbi_text_add(&report->text, "%-22s %s, %s\n", "machine", sbi_cpu_architecture(), sbi_cpu_model());
    sbi_text_add(&report->text, "%-22s %d of %d usable cores\n", "threads", sb_context_threads(ctx), sbi_cpu_cores());
    sbi_text_add(&report->json, "{\"samebits\": \"doctor\", \"format\": 1");
    sbi_report_member(&report->json, false, "release", sb_version());
    sbi_text_add(&report->json, ", \"contract\": %d", SB_CONTRACT);
    sbi_report_member(&report->json, false, "commit", sb_commit());
    sbi_report_member(&report->json, false, "architecture", sbi_cpu_architecture());
    sbi_report_member(&report->json, false, "cpu", sbi_cpu_model());
    sbi_report_member(&report->json, false, "compiler", sbi_compiler());
    sbi_report_member(&report->json, false, "device", sb_context_device(ctx));
    sbi_text_add(&report->json, ", \"threads\": %d, \"cores\": %d", sb_context_threads(ctx), sbi_cpu_cores());
    describe_levels(report, sb_context_isa(ctx));
    line(report, "compiler", sbi_compiler());
    good = describe_canaries(report);
    sbi_text_add(&report->text, "%-22s %s, subnormals %s (the library sets its own and puts this back)\n", "caller's environment",
                 caller_nearest ? "nearest" : "NOT to nearest", caller_flushes ? "FLUSHED" : "kept");
    sbi_text_add(&report->json, ",\n \"caller\": {\"nearest\": %s, \"flushes\": %s},\n \"conformance\": [", yes(caller_nearest), yes(caller_flushes));
    for (int i = 0; sbi_kernel_levels[i] && status == SB_OK; i++) {
        if (sbi_cpu_level_usable(sbi_kernel_levels[i]->level)) {
            status = probe_level(report, sbi_kernel_levels[i]->level, first, &good, err);
            first = false;
        }
    }
    sb_context_free(ctx);
    sbi_text_add(&report->json, "\n ],\n \"devices\": [");
    if (status == SB_OK) status = sbi_opencl_list(describe_device, report, err);
    if (status == SB_OK) status = sbi_cuda_list(describe_device, report, err);
    sbi_fpenv_leave(before);
    bool restored = rounds_to_nearest() == caller_nearest && flushes() == caller_flushes;
    good = good && restored;
    if (!restored) {
        line(report, "caller's environment", "WRONG: it was not put back");
    }
    sbi_text_add(&report->json, "\n ], \"restored\": %s, \"conforms\": %s}\n", yes(restored), yes(good));
    line(report, "verdict", good ? "conforms" : "DOES NOT CONFORM");
    report->verdict = good ? 0 : 1;
    if (status != SB_OK) {
        sbi_report_free(report);
        return status;
    }
    return sbi_report_give(report, out, err);
}
