// SPDX-License-Identifier: Apache-2.0
// The recipe: what a run is, in JSON, read strictly. Every field stands once in the table below;
// unknown names, wrong types and values outside their range are errors that name the key. The full
// text (every field written out, and the table of learning rates as float32 bits) is what
// checkpoints carry and what the ledger's first line hashes; reading it again gives it back byte
// for byte.
#include "lm.h"

#include <stdio.h>
#include <string.h>

typedef enum kind { INTEGER, REAL, BOOLEAN } kind;
typedef struct field {
    const char *section, *key;
    kind kind;
    size_t offset;
    bool required;
    double standard, least, most; // integers among them are exact
} field;

#define AT(member) offsetof(sbi_recipe, member)
static const field fields[] = {
    {"model", "hidden_size", INTEGER, AT(model.hidden_size), true, 0, 2, 65536},
    {"model", "layers", INTEGER, AT(model.layers), true, 0, 1, 1024},
    {"model", "heads", INTEGER, AT(model.heads), true, 0, 1, 1024},
    {"model", "kv_heads", INTEGER, AT(model.kv_heads), true, 0, 1, 1024},
    {"model", "intermediate_size", INTEGER, AT(model.intermediate_size), true, 0, 1, 1 << 20},
    {"model", "vocabulary", INTEGER, AT(model.vocabulary), false, 256, 256, 1 << 24},
    {"model", "tie", BOOLEAN, AT(model.tie), false, 0, 0, 1},
    {"model", "final_norm", BOOLEAN, AT(model.final_norm), false, 1, 0, 1},
    {"model", "bias", BOOLEAN, AT(model.bias), false, 0, 0, 1},
    {"model", "rope_theta", REAL, AT(model.rope_theta), false, 10000, 1, 1e9},
    {"model", "norm_eps", REAL, AT(model.norm_eps), false, 1e-5, 1e-12, 1},
    {"model", "initial_deviation", REAL, AT(model.initial_deviation), false, 0.02, 0, 10},
    {"training", "steps", INTEGER, AT(steps), true, 0, 1, 1 << 24},
    {"training", "shards", INTEGER, AT(shards), false, 64, 1, 65536},
    {"training", "shard_sequences", INTEGER, AT(shard_sequences), true, 0, 1, 65536},
    {"training", "sequence_length", INTEGER, AT(sequence_length), true, 0, 1, 1 << 20},
    {"training", "seed", INTEGER, AT(seed), true, 0, 0, 9007199254740992.0},
    {"training", "learning_rate", REAL, AT(learning_rate), true, 0, 0, 1000},
    {"training", "warm_up", INTEGER, AT(warm_up), false, 0, 0, 1 << 24},
    {"training", "minimum_ratio", REAL, AT(minimum_ratio), false, 0.1, 0, 1},
    {"training", "beta1", REAL, AT(beta1), false, 0.9, 0, 0.999999},
    {"training", "beta2", REAL, AT(beta2), false, 0.95, 0, 0.999999},
    {"training", "eps", REAL, AT(eps), false, 1e-8, 1e-30, 1},
    {"training", "weight_decay", REAL, AT(weight_decay), false, 0.1, 0, 100},
    {"training", "clip", REAL, AT(clip), false, 1, 0, 1e30},
    {"checkpoints", "every", INTEGER, AT(every), false, 0, 0, 1 << 24},
    {"checkpoints", "keep", INTEGER, AT(keep), false, 2, 1, 1 << 24},
    {"evaluation", "windows", INTEGER, AT(windows), false, 64, 0, 1 << 30},
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)
static const char *const sections[] = {"model", "training", "checkpoints", "evaluation", "data"};
#define SECTION_COUNT (sizeof sections / sizeof *sections)

static int64_t *integer_at(sbi_recipe *recipe, const field *f) {
    return (int64_t *)(void *)((char *)recipe + f->offset);
}
static double *real_at(sbi_recipe *recipe, const field *f) {
    return (double *)(void *)((char *)recipe + f->offset);
}

// A key may hold a NUL: "name\0x" is not "name".
static bool is(const sbi_json *member, const char *key) {
    return strlen(key) == (size_t)member->key_length &&
           memcmp(key, member->key, (size_t)member->key_length) == 0;
}

static sb_status refuse(sb_error *err, const char *section, const sbi_json *member,
                        const char *wanted) {
    char key[40], path[56], found[60];
    sbi_escape(member->key, (size_t)member->key_length, key, sizeof key);
    snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", key);
    static const char *const kinds[] = {"null",     "false",    "true",     "",
                                        "a string", "an array", "an object"};
    if (member->kind == SBI_JSON_NUMBER || member->kind == SBI_JSON_STRING)
        sbi_escape(member->text, (size_t)member->length, found, sizeof found);
    else
        snprintf(found, sizeof found, "%s", kinds[member->kind]);
    return sbi_fail(err, SB_ERR_ARGUMENT, path, "%s is %s; it must be %s", path, found, wanted);
}

static sb_status unknown(sb_error *err, const char *section, const sbi_json *member) {
    char key[40], path[56];
    sbi_escape(member->key, (size_t)member->key_length, key, sizeof key);
    snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", key);
    return sbi_fail(err, SB_ERR_ARGUMENT, path, "a recipe has no %s", path);
}

static sb_status read_field(const field *f, const sbi_json *member, sbi_recipe *recipe,
                            sb_error *err) {
    char wanted[96];
    if (f->kind == BOOLEAN) {
        if (member->kind != SBI_JSON_TRUE && member->kind != SBI_JSON_FALSE)
            return refuse(err, f->section, member, "true or false");
        *integer_at(recipe, f) = member->kind == SBI_JSON_TRUE;
        return SB_OK;
    }
    if (f->kind == INTEGER) {
        int64_t least = (int64_t)f->least, most = (int64_t)f->most, value;
        snprintf(wanted, sizeof wanted, "an integer from %lld to %lld", (long long)least,
                 (long long)most);
        if (member->kind != SBI_JSON_NUMBER || !sbi_json_integer(member, &value) || value < least ||
            value > most)
            return refuse(err, f->section, member, wanted);
        *integer_at(recipe, f) = value;
        return SB_OK;
    }
    double value;
    snprintf(wanted, sizeof wanted, "a number from %g to %g", f->least, f->most);
    if (member->kind != SBI_JSON_NUMBER || !sbi_json_real(member, &value) ||
        !(value >= f->least && value <= f->most))
        return refuse(err, f->section, member, wanted);
    *real_at(recipe, f) = value;
    return SB_OK;
}

static sb_status read_section(const char *section, const sbi_json *object, sbi_recipe *recipe,
                              sb_error *err) {
    for (const sbi_json *member = object ? object->first : NULL; member; member = member->next) {
        const field *found = NULL;
        for (size_t i = 0; i < FIELD_COUNT && !found; i++)
            if (strcmp(fields[i].section, section) == 0 && is(member, fields[i].key))
                found = &fields[i];
        bool elsewhere = strcmp(section, "training") == 0 &&
                         (is(member, "groups") || is(member, "learning_rates"));
        if (!found && !elsewhere) return unknown(err, section, member);
        sb_status status = found ? read_field(found, member, recipe, err) : SB_OK;
        if (status != SB_OK) return status;
    }
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].required && strcmp(fields[i].section, section) == 0 &&
            !(object && sbi_json_member(object, fields[i].key))) {
            char path[56];
            snprintf(path, sizeof path, "%s.%s", section, fields[i].key);
            return sbi_fail(err, SB_ERR_ARGUMENT, path, "the recipe must give %s", path);
        }
    return SB_OK;
}

static sb_status read_data(const sbi_json *object, sbi_recipe *recipe, sb_error *err) {
    for (const sbi_json *member = object ? object->first : NULL; member; member = member->next) {
        if (is(member, "sha256")) {
            bool good = member->kind == SBI_JSON_STRING && member->length == 64;
            for (int i = 0; i < 64 && good; i++)
                good = (member->text[i] >= '0' && member->text[i] <= '9') ||
                       (member->text[i] >= 'a' && member->text[i] <= 'f');
            if (!good) return refuse(err, "data", member, "64 hexadecimal digits in lower case");
            memcpy(recipe->data_sha256, member->text, 65);
        } else if (is(member, "held_out")) {
            int64_t value;
            if (member->kind != SBI_JSON_NUMBER || !sbi_json_integer(member, &value) || value < 0)
                return refuse(err, "data", member, "a number of bytes");
            recipe->held_out = value;
        } else {
            return unknown(err, "data", member);
        }
    }
    return SB_OK;
}

static sb_status read_group(const sbi_json *object, sbi_group *group, double decay, sb_error *err) {
    bool named = false;
    *group = (sbi_group){.weight_decay = (float)decay, .rate_ratio = 1.0f};
    for (const sbi_json *member = object->first; member; member = member->next) {
        double value;
        if (is(member, "pattern")) {
            if (member->kind != SBI_JSON_STRING || member->length < 1 ||
                member->length >= SBI_PARAMETER_NAME ||
                strlen(member->text) != (size_t)member->length)
                return refuse(err, "training.groups", member, "a name with '*' for any characters");
            memcpy(group->pattern, member->text, (size_t)member->length);
            named = true;
        } else if (is(member, "weight_decay")) {
            if (member->kind != SBI_JSON_NUMBER || !sbi_json_real(member, &value) ||
                !(value >= 0 && value <= 100))
                return refuse(err, "training.groups", member, "a number from 0 to 100");
            group->weight_decay = (float)value;
        } else if (is(member, "rate_ratio")) {
            if (member->kind != SBI_JSON_NUMBER || !sbi_json_real(member, &value) ||
                !(value >= 0 && value <= 1000))
                return refuse(err, "training.groups", member, "a number from 0 to 1000");
            group->rate_ratio = (float)value;
        } else {
            return unknown(err, "training.groups", member);
        }
    }
    if (!named)
        return sbi_fail(err, SB_ERR_ARGUMENT, "training.groups",
                        "every one of training.groups must give its pattern");
    return SB_OK;
}

static sb_status read_groups(const sbi_json *training, sbi_recipe *recipe, sb_error *err) {
    const sbi_json *given = training ? sbi_json_member(training, "groups") : NULL;
    if (!given) { // norms and biases do not decay
        recipe->groups[0] = (sbi_group){.pattern = "*norm.weight", .rate_ratio = 1.0f};
        recipe->groups[1] = (sbi_group){.pattern = "*.bias", .rate_ratio = 1.0f};
        recipe->group_count = 2;
    } else {
        if (given->kind != SBI_JSON_ARRAY || given->length > SBI_GROUPS_MAX)
            return refuse(err, "training", given, "an array of at most 16 groups");
        recipe->group_count = 0;
        for (const sbi_json *item = given->first; item; item = item->next) {
            if (item->kind != SBI_JSON_OBJECT)
                return sbi_fail(err, SB_ERR_ARGUMENT, "training.groups",
                                "every one of training.groups must be an object");
            sb_status status =
                read_group(item, &recipe->groups[recipe->group_count++], recipe->weight_decay, err);
            if (status != SB_OK) return status;
        }
    }
    recipe->groups[recipe->group_count++] = (sbi_group){
        .pattern = "*", .weight_decay = (float)recipe->weight_decay, .rate_ratio = 1.0f};
    return SB_OK;
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The table as the recipe gives it ("3a83126f 3b03126f ..."), else by the formula of nn/schedule.c.
static sb_status read_rates(sb_context *ctx, sbi_arena *arena, const sbi_json *training,
                            sbi_recipe *recipe, sb_error *err) {
    recipe->rates = sbi_arena_allocate(arena, recipe->steps, sizeof *recipe->rates, err);
    if (!recipe->rates) return SB_ERR_MEMORY;
    const sbi_json *given = training ? sbi_json_member(training, "learning_rates") : NULL;
    if (!given)
        return sbi_schedule_cosine(ctx, recipe->steps, recipe->warm_up, recipe->learning_rate,
                                   recipe->minimum_ratio, recipe->rates, err);
    bool good = given->kind == SBI_JSON_STRING && given->length == 9 * recipe->steps - 1;
    for (int64_t t = 0; t < recipe->steps && good; t++) {
        const char *at = given->text + 9 * t;
        uint32_t bits = 0;
        for (int i = 0; i < 8; i++) {
            good = good && digit(at[i]) >= 0;
            bits = bits << 4 | ((uint32_t)digit(at[i]) & 15u);
        }
        good = good && at[8] == (t + 1 < recipe->steps ? ' ' : 0) &&
               bits < 0x7f800000u; // finite, not negative
        memcpy(&recipe->rates[t], &bits, sizeof bits);
    }
    if (!good)
        return sbi_fail(err, SB_ERR_ARGUMENT, "training.learning_rates",
                        "training.learning_rates must be the bits of %lld finite float32, eight "
                        "hexadecimal digits each, "
                        "with a space between",
                        (long long)recipe->steps);
    return SB_OK;
}

static sb_status check(const sbi_recipe *recipe, sb_error *err) {
    const sbi_model *m = &recipe->model;
    if (m->hidden_size % m->heads != 0 || m->hidden_size / m->heads % 2 != 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "model.heads",
                        "model.hidden_size %lld must split into %lld heads of even size",
                        (long long)m->hidden_size, (long long)m->heads);
    if (m->heads % m->kv_heads != 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "model.kv_heads",
                        "model.heads %lld is no multiple of model.kv_heads %lld",
                        (long long)m->heads, (long long)m->kv_heads);
    if (recipe->warm_up > recipe->steps)
        return sbi_fail(err, SB_ERR_ARGUMENT, "training.warm_up",
                        "training.warm_up %lld is more than training.steps %lld",
                        (long long)recipe->warm_up, (long long)recipe->steps);
    return SB_OK;
}

static void write_real_member(sbi_text *text, const char *key, double value, const char *after) {
    sbi_text_add(text, "\"%s\": ", key);
    sbi_text_add_real(text, value);
    sbi_text_add(text, "%s", after);
}

// The full text, in the order of the table.
static sb_status write_text(sb_context *ctx, sbi_arena *arena, sbi_recipe *recipe, sb_error *err) {
    sbi_text text;
    sbi_text_start(&text, &ctx->allocator);
    sbi_text_add(&text, "{\n  \"recipe\": 1,\n  \"name\": ");
    sbi_text_add_json_string(&text, recipe->name, (int64_t)strlen(recipe->name));
    for (size_t s = 0; s + 1 < SECTION_COUNT; s++) { // all but data
        bool training = strcmp(sections[s], "training") == 0, first = true;
        sbi_text_add(&text, ",\n  \"%s\": {", sections[s]);
        for (size_t i = 0; i < FIELD_COUNT; i++) {
            const field *f = &fields[i];
            if (strcmp(f->section, sections[s]) != 0) continue;
            sbi_text_add(&text, "%s\n    \"%s\": ", first ? "" : ",", f->key);
            first = false;
            if (f->kind == REAL)
                sbi_text_add_real(&text, *real_at(recipe, f));
            else if (f->kind == BOOLEAN)
                sbi_text_add(&text, "%s", *integer_at(recipe, f) ? "true" : "false");
            else
                sbi_text_add(&text, "%lld", (long long)*integer_at(recipe, f));
        }
        if (training) {
            sbi_text_add(&text, ",\n    \"groups\": [");
            for (int64_t g = 0; g + 1 < recipe->group_count; g++) {
                sbi_text_add(&text, "%s\n      {\"pattern\": ", g ? "," : "");
                sbi_text_add_json_string(&text, recipe->groups[g].pattern,
                                         (int64_t)strlen(recipe->groups[g].pattern));
                sbi_text_add(&text, ", ");
                write_real_member(&text, "weight_decay", (double)recipe->groups[g].weight_decay,
                                  ", ");
                write_real_member(&text, "rate_ratio", (double)recipe->groups[g].rate_ratio, "}");
            }
            sbi_text_add(&text, "],\n    \"learning_rates\": \"");
            for (int64_t t = 0; t < recipe->steps; t++) {
                uint32_t bits;
                memcpy(&bits, &recipe->rates[t], sizeof bits);
                sbi_text_add(&text, "%s%08x", t ? " " : "", bits);
            }
            sbi_text_add(&text, "\"");
        }
        sbi_text_add(&text, "\n  }");
    }
    sbi_text_add(&text, ",\n  \"data\": {");
    if (recipe->data_sha256[0]) sbi_text_add(&text, "\"sha256\": \"%s\", ", recipe->data_sha256);
    sbi_text_add(&text, "\"held_out\": %lld}\n}\n", (long long)recipe->held_out);
    if (!text.failed) recipe->text = sbi_arena_string(arena, text.bytes, (size_t)text.length, err);
    recipe->text_length = text.length;
    bool failed = text.failed;
    sbi_text_free(&text);
    if (failed) return sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for the recipe's text");
    if (!recipe->text) return SB_ERR_MEMORY;
    sbi_sha256_hex(recipe->text, recipe->text_length, recipe->sha256);
    return SB_OK;
}

void sbi_sha256_hex(const void *bytes, int64_t size, char out[65]) {
    uint8_t digest[32];
    sbi_sha256 hash;
    sbi_sha256_start(&hash);
    sbi_sha256_add(&hash, bytes, (size_t)size);
    sbi_sha256_end(&hash, digest);
    sbi_hex(digest, 32, out);
}

sb_status sbi_recipe_read(sb_context *ctx, sbi_arena *arena, const char *bytes, int64_t size,
                          sbi_recipe *out, sb_error *err) {
    const sbi_json *root;
    const sbi_json *found[SECTION_COUNT] = {NULL};
    bool versioned = false;
    *out = (sbi_recipe){.name = "unnamed"};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].kind == REAL)
            *real_at(out, &fields[i]) = fields[i].standard;
        else
            *integer_at(out, &fields[i]) = (int64_t)fields[i].standard;
    }
    sb_status status = sbi_json_read(arena, bytes, size, &root, err);
    if (status != SB_OK) return status;
    if (root->kind != SBI_JSON_OBJECT)
        return sbi_fail(err, SB_ERR_FORMAT, "recipe", "a recipe is a JSON object");
    for (const sbi_json *member = root->first; member; member = member->next) {
        size_t s = 0;
        while (s < SECTION_COUNT && !is(member, sections[s])) s++;
        int64_t version;
        if (s < SECTION_COUNT) {
            if (member->kind != SBI_JSON_OBJECT) return refuse(err, "", member, "an object");
            found[s] = member;
        } else if (is(member, "recipe")) {
            if (member->kind != SBI_JSON_NUMBER || !sbi_json_integer(member, &version) ||
                version != 1)
                return refuse(err, "", member, "1, the version of recipes that this release reads");
            versioned = true;
        } else if (is(member, "name")) {
            bool good = member->kind == SBI_JSON_STRING && member->length > 0 &&
                        member->length < (int64_t)sizeof out->name;
            for (int64_t i = 0; i < member->length && good; i++)
                good = member->text[i] > 31 && member->text[i] < 127;
            if (!good)
                return refuse(err, "", member, "a string of 1 to 63 printable ASCII characters");
            memcpy(out->name, member->text, (size_t)member->length + 1);
        } else {
            return unknown(err, "", member);
        }
    }
    if (!versioned)
        return sbi_fail(err, SB_ERR_ARGUMENT, "recipe",
                        "the recipe must give \"recipe\": 1, its version");
    for (size_t s = 0; s + 1 < SECTION_COUNT && status == SB_OK; s++)
        status = read_section(sections[s], found[s], out, err);
    if (status == SB_OK) status = read_data(found[SECTION_COUNT - 1], out, err);
    if (status == SB_OK) status = read_groups(found[1], out, err);
    if (status == SB_OK) status = check(out, err);
    if (status == SB_OK) status = read_rates(ctx, arena, found[1], out, err);
    return status == SB_OK ? write_text(ctx, arena, out, err) : status;
}

sb_status sbi_recipe_load(sb_context *ctx, sbi_arena *arena, const char *path, sbi_recipe *out,
                          sb_error *err) {
    uint8_t *bytes = NULL;
    int64_t size = 0;
    sb_status status = sbi_named(
        sbi_file_read(&ctx->allocator, path, INT64_C(1) << 30, &bytes, &size, err), "recipe", err);
    if (status == SB_OK) {
        char shown[160];
        sb_error why = {.status = SB_OK};
        status = sbi_recipe_read(ctx, arena, (const char *)bytes, size, out, &why);
        if (status == SB_ERR_FORMAT)
            sbi_fail(err, status, "recipe", "%s is no recipe: %s",
                     sbi_escape(path, strlen(path), shown, sizeof shown), why.message);
        else if (status != SB_OK && err)
            *err = why;
    }
    sbi_release(&ctx->allocator, bytes);
    return status;
}
