// SPDX-License-Identifier: Apache-2.0
// The evidence document (docs/evidence.md): who computed what, on what, in one JSON text.
#include "array.h"
#include "verify.h"

#include <string.h>

static void add_hash(sbi_text *json, bool first, const char *key, const uint8_t *digest) {
    char hex[65];
    if (digest) {
        sbi_hex(digest, 32, hex);
    }
    sbi_report_member(json, first, key, digest ? hex : NULL);
}

void sbi_evidence_write(const sb_context *ctx, uint64_t seed, const char *tier, const uint8_t *references, const char *date,
                        const sbi_cells *cells, const char *more, sbi_text *json) {
    const uint16_t one = 1;
    uint8_t module[32];
    sbi_text_add(json, "{\"samebits\": \"evidence\", \"format\": 1,\n ");
    sbi_report_member(json, true, "release", sb_version());
    sbi_text_add(json, ", \"contract\": %d", SB_CONTRACT);
    sbi_report_member(json, false, "commit", sb_commit());
    sbi_text_add(json, ", \"seed\": \"%llu\"", (unsigned long long)seed); // text: a double does not hold 64 bits
    sbi_report_member(json, false, "tier", tier);
    add_hash(json, false, "references", references);
    sbi_report_member(json, false, "date", date);
    sbi_text_add(json, ",\n \"machine\": {");
    sbi_report_member(json, true, "architecture", sbi_cpu_architecture());
    sbi_report_member(json, false, "cpu", sbi_cpu_model());
    sbi_report_member(json, false, "endianness", *(const uint8_t *)&one ? "little" : "big");
    sbi_report_member(json, false, "device", sb_context_device(ctx));
    sbi_report_member(json, false, "level", sb_context_isa(ctx));
    sbi_text_add(json, ", \"threads\": %d},\n \"build\": {", sb_context_threads(ctx));
    sbi_report_member(json, true, "compiler", sbi_compiler());
    add_hash(json, false, "sha256", sbi_module_digest(module) ? module : NULL);
    sbi_text_add(json, "},\n \"cells\": [");
    for (int64_t i = 0; i < cells->count; i++) {
        const sbi_cell *cell = &cells->items[i];
        sbi_text_add(json, "%s\n  {", i ? "," : "");
        sbi_report_member(json, true, "lane", cell->lane);
        sbi_report_member(json, false, "fixture", cell->fixture);
        sbi_report_member(json, false, "cell", cell->name);
        sbi_report_member(json, false, "state", sbi_cell_state_names[cell->state]);
        add_hash(json, false, "sha256", cell->hashed ? cell->digest : NULL);
        if (cell->note[0]) {
            sbi_report_member(json, false, "note", cell->note);
        }
        sbi_text_add(json, "}");
    }
    sbi_text_add(json, "\n ]");
    sbi_text_add_bytes(json, more, (int64_t)strlen(more));
    sbi_text_add(json, "}\n");
}
