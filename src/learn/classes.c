// SPDX-License-Identifier: Apache-2.0
// Names of classes. A classifier's y are numbers of classes; what they are called stands in the model's note "classes", a JSON
// array: all words, ascending by their bytes, or all whole numbers, ascending, or false and true. Whatever the caller's JSON looks
// like, the note is written by write_names: the same classes are the same bytes.
#include "words.h"

#include <stdio.h>
#include <string.h>

typedef struct class_names {
    sbi_arena *arena;
    int64_t count;
    const char *const *words; // or
    const double *numbers;    // (also of false and true)
    bool truth;
} class_names;

static void free_classes(class_names *classes) { sbi_arena_free(classes->arena); }

static sb_status bad(const char *why, sb_error *err) {
    return sbi_fail(err, SB_ERR_ARGUMENT, "classes", "names of classes are a JSON array of words, or of whole numbers, in ascending order: %s", why);
}

static bool is_whole(double value) { return value > -0x1p53 && value < 0x1p53 && (double)(int64_t)value == value; }

static bool is_truth(const sbi_json *name) { return name->kind == SBI_JSON_FALSE || name->kind == SBI_JSON_TRUE; }

static sb_status take_names(const sbi_json *array, class_names *out, sb_error *err) {
    const sbi_json *name = array->first;
    const bool is_words = name->kind == SBI_JSON_STRING;
    double *numbers = sbi_arena_allocate(out->arena, array->length, sizeof *numbers, err);
    const char **words = sbi_arena_allocate(out->arena, array->length, sizeof *words, err);
    if (!numbers || !words) return SB_ERR_MEMORY;
    out->truth = is_truth(name);
    out->numbers = numbers;
    out->words = is_words ? words : NULL;
    for (int64_t i = 0; name; name = name->next, i++) {
        const bool truth = is_truth(name), number = truth || (sbi_json_real(name, &numbers[i]) && is_whole(numbers[i]));
        if (truth) numbers[i] = name->kind == SBI_JSON_TRUE;
        if (is_words ? name->kind != SBI_JSON_STRING : truth != out->truth || !number) return bad("one is of another kind, or no whole number below 2^53", err);
        if (is_words && strlen(name->text) != (size_t)name->length) return bad("a word holds a NUL", err);
        words[i] = name->text;
        if (i > 0 && (is_words ? strcmp(words[i - 1], words[i]) >= 0 : !(numbers[i - 1] < numbers[i])))
            return bad("one is not above the one before it", err);
    }
    out->count = array->length;
    return SB_OK;
}

static sb_status read_classes(const sbi_allocator *allocator, const char *text, class_names *out, sb_error *err) {
    const sbi_json *array = NULL;
    *out = (class_names){.arena = sbi_arena_new(allocator, err)};
    sb_status status = out->arena ? sbi_json_read(out->arena, text, (int64_t)strlen(text), &array, err) : SB_ERR_MEMORY;
    if (status == SB_ERR_FORMAT) status = bad("this is no JSON", err);
    if (status == SB_OK && (array->kind != SBI_JSON_ARRAY || array->length < 1)) status = bad("this is no array, or an empty one", err);
    if (status == SB_OK) status = take_names(array, out, err);
    if (status != SB_OK) {
        free_classes(out);
        out->arena = NULL;
    }
    return status;
}

static void add_name(const class_names *classes, int64_t number, sbi_text *to) {
    if (classes->words)
        sbi_text_add_json_string(to, classes->words[number], (int64_t)strlen(classes->words[number]));
    else if (classes->truth)
        sbi_text_add(to, "%s", classes->numbers[number] != 0.0 ? "true" : "false");
    else
        sbi_text_add(to, "%lld", (long long)classes->numbers[number]);
}

static int64_t place_of(const class_names *classes, const char *word, double number) {
    int64_t low = 0, high = classes->count;
    if ((word != NULL) != (classes->words != NULL)) return classes->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (word ? strcmp(classes->words[middle], word) < 0 : classes->numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    const bool there = low < classes->count && (word ? strcmp(classes->words[low], word) == 0 : classes->numbers[low] == number);
    return there ? low : classes->count;
}

// ---- the note of a model

// The text of these names; of NULL: the numbers 0 .. count - 1.
static sb_status write_names(const sbi_allocator *allocator, const class_names *classes, int64_t count, sbi_text *to, sb_error *err) {
    sbi_text_start(to, allocator);
    for (int64_t i = 0; i < count; i++) {
        sbi_text_add(to, "%s", i ? ", " : "[");
        if (classes)
            add_name(classes, i, to);
        else
            sbi_text_add(to, "%lld", (long long)i);
    }
    sbi_text_add(to, "]");
    return to->failed ? sbi_fail(err, SB_ERR_MEMORY, "classes", "out of memory for the names of classes") : SB_OK;
}

sb_status sbi_classes_set(sb_model *model, const char *given, int64_t count, bool goes_on, sb_error *err) {
    const int64_t there = goes_on ? sbi_model_size(model, "c") : count;
    class_names classes = {.count = there};
    sbi_text text;
    sb_status status = given ? read_classes(&model->allocator, given, &classes, err) : SB_OK;
    if (status != SB_OK) return status;
    if (given || !goes_on) {
        status = write_names(&model->allocator, given ? &classes : NULL, classes.count, &text, err);
        if (status == SB_OK && goes_on && strcmp(sbi_model_find_note(model, "classes"), text.bytes) != 0)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "classes", "these classes are not those of the fit before");
        if (status == SB_OK && !goes_on) status = sbi_model_note(model, "classes", text.bytes, err);
        sbi_text_free(&text);
    }
    if (status == SB_OK && count > classes.count)
        status = sbi_fail(err, SB_ERR_ARGUMENT, "y", "y holds class %lld, and there are %lld classes, from 0", (long long)count - 1, (long long)classes.count);
    if (status == SB_OK) status = sbi_model_set_size(model, "c", classes.count, err);
    free_classes(&classes);
    return status;
}

sb_status sbi_classes_check(const sb_model *model, sb_error *err) {
    const char *note = sbi_model_find_note(model, "classes");
    const int64_t count = sbi_model_size(model, "c");
    class_names classes;
    sbi_text text;
    sb_status status = note ? read_classes(&model->allocator, note, &classes, err) : SB_ERR_ARGUMENT;
    if (status == SB_ERR_ARGUMENT) return sbi_fail(err, SB_ERR_FORMAT, "classes", "the names of classes are missing, or not in order");
    if (status != SB_OK) return status;
    status = write_names(&model->allocator, &classes, classes.count, &text, err);
    if (status == SB_OK && (classes.count != count || strcmp(text.bytes, note) != 0))
        status = sbi_fail(err, SB_ERR_FORMAT, "classes", "not the names of %lld classes as this library writes them", (long long)count);
    sbi_text_free(&text);
    free_classes(&classes);
    return status;
}

// ---- labels of a table

static sb_status write_numbers(sb_context *ctx, int64_t n, const int64_t *numbers, sb_array **out, sb_error *err) {
    sb_status status = sbi_array_new(ctx, SB_I64, 1, &n, out, err);
    return status ? status : sbi_array_write(*out, numbers, (size_t)n * sizeof *numbers, err);
}

// The distinct labels of a column, ascending.
static sb_status name_labels(sb_context *ctx, const sbi_labels *labels, sbi_text *to, sb_error *err) {
    class_names classes = {.count = labels->word_count, .words = labels->words};
    sb_array *x = NULL, *values = NULL;
    double *distinct = NULL;
    sb_status status = SB_OK;
    if (!labels->words) {
        if ((status = sbi_array_new(ctx, SB_F64, 1, &labels->n, &x, err)) || (status = sbi_write_reals(ctx, labels->numbers, x, err)) ||
            (status = sbi_array_new(ctx, SB_F64, 1, &labels->n, &values, err)) ||
            (status = sbi_unique(ctx, x, values, NULL, NULL, &classes.count, err)) || (status = sbi_read_reals(ctx, values, &distinct, err)))
            goto done;
        classes.numbers = distinct;
    }
    status = write_names(to->allocator, &classes, classes.count, to, err);
done:
    sbi_array_free(x);
    sbi_array_free(values);
    sbi_release(&ctx->allocator, distinct);
    return status;
}

sb_status sbi_labels_number(sb_context *ctx, const sbi_labels *labels, const char *classes, sbi_text *names, sb_array **out, sb_error *err) {
    class_names known = {.arena = NULL};
    int64_t *places = NULL;
    sb_status status = SB_OK;
    for (int64_t i = 0; i < labels->n; i++)
        if (labels->numbers[i] - labels->numbers[i] != 0.0)
            return sbi_fail(err, SB_ERR_NONFINITE, "column", "the label of row %lld is missing or infinite", (long long)i);
        else if (!labels->words && !is_whole(labels->numbers[i]))
            return sbi_fail(err, SB_ERR_ARGUMENT, "column", "the label of row %lld is no whole number: a classifier expects classes", (long long)i);
    if (labels->n < 1) return sbi_fail(err, SB_ERR_EMPTY, "table", "a table without rows has no labels");
    if (!classes) status = name_labels(ctx, labels, names, err);
    if (status == SB_OK) status = read_classes(&ctx->allocator, classes ? classes : names->bytes, &known, err);
    if (status == SB_OK && !(places = sbi_allocate(&ctx->allocator, labels->n, sizeof *places, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < labels->n && status == SB_OK; i++)
        places[i] = place_of(&known, labels->words ? labels->words[(int64_t)labels->numbers[i]] : NULL, labels->numbers[i]);
    if (status == SB_OK) status = write_numbers(ctx, labels->n, places, out, err);
    sbi_release(&ctx->allocator, places);
    free_classes(&known);
    return status;
}

// ---- and back

static void add_csv_field(sbi_text *text, const char *word) {
    if (!*word || strpbrk(word, ",\"\r\n") || *word == ' ') {
        sbi_text_add(text, "\"");
        for (; *word; word++) sbi_text_add(text, *word == '"' ? "\"\"" : "%c", *word);
        sbi_text_add(text, "\"");
    } else {
        sbi_text_add(text, "%s", word);
    }
}

// A header, without which a table of words would lose its first row when it is read, and the names of numbers[n], a line each.
static sb_status write_words(const sbi_allocator *allocator, const class_names *classes, int64_t n, const double *numbers, const char *path, sb_error *err) {
    sbi_file *file = NULL;
    sbi_text text;
    sb_status status = sbi_file_create(allocator, path, &file, err);
    sbi_text_start(&text, allocator);
    sbi_text_add(&text, "class\n");
    for (int64_t i = 0; i < n && status == SB_OK; i++) {
        const int64_t place = (int64_t)numbers[i];
        if (classes->words)
            add_csv_field(&text, classes->words[place]);
        else
            add_name(classes, place, &text);
        sbi_text_add(&text, "\n");
        if (text.length > 1 << 20 || i + 1 == n) {
            status = text.failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for a table") : sbi_file_write(file, text.bytes, text.length, err);
            sbi_text_free(&text);
            sbi_text_start(&text, allocator);
        }
    }
    sbi_text_free(&text);
    if (status == SB_OK) {
        status = sbi_file_commit(file, err);
        if (status == SB_OK) file = NULL;
    }
    sbi_file_abandon(file);
    return status;
}

// Names that are numbers.
static sb_status write_integers(sb_context *ctx, const class_names *classes, int64_t n, const double *numbers, const char *path, sb_error *err) {
    sb_array *a = NULL;
    int64_t *integers = sbi_allocate(&ctx->allocator, n, sizeof *integers, err);
    sb_status status = integers ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == SB_OK; i++) integers[i] = (int64_t)classes->numbers[(int64_t)numbers[i]];
    if (status == SB_OK) status = write_numbers(ctx, n, integers, &a, err);
    if (status == SB_OK) status = sbi_table_write(a, path, err);
    sbi_array_free(a);
    sbi_release(&ctx->allocator, integers);
    return status;
}

sb_status sbi_labels_save(sb_context *ctx, const sb_array *numbers, const char *classes, const char *path, sb_error *err) {
    const size_t length = strlen(path);
    const bool csv = length > 4 && strcmp(path + length - 4, ".csv") == 0;
    class_names known;
    double *places = NULL;
    sb_status status = read_classes(&ctx->allocator, classes, &known, err);
    if (status != SB_OK) return status;
    const bool words = known.words || known.truth;
    const int64_t n = numbers->size;
    if (words && !csv) status = sbi_fail(err, SB_ERR_UNSUPPORTED, "path", "classes that are words go into csv: the path must end in .csv");
    if (status == SB_OK) status = sbi_read_reals(ctx, numbers, &places, err);
    for (int64_t i = 0; i < n && status == SB_OK; i++)
        if (!(places[i] >= 0.0 && places[i] < (double)known.count))
            status = sbi_fail(err, SB_ERR_ARGUMENT, "numbers", "numbers[%lld] is no class: there are %lld", (long long)i, (long long)known.count);
    if (status == SB_OK) status = words ? write_words(&ctx->allocator, &known, n, places, path, err) : write_integers(ctx, &known, n, places, path, err);
    sbi_release(&ctx->allocator, places);
    free_classes(&known);
    return status;
}
