// SPDX-License-Identifier: Apache-2.0
// The command: a table of commands (main.c), flags read by a table each (flags.c). It sees include/ only.
//
// Exit status: 0 good; 1 a difference was found; 2 wrong usage, a wrong SAMEBITS_ISA, SAMEBITS_THREADS or SAMEBITS_DEVICE
// included; 3 not everything that was asked for could be done (files, memory, workers, numbers that are not finite). Two
// more: compare gives 4 for one document given twice, and lm 130 where Ctrl-C stopped it.
#ifndef SBI_CLI_H
#define SBI_CLI_H

#include "samebits.h"

#include <stdbool.h>
#include <stdio.h>

enum { CLI_GOOD = 0, CLI_FOUND = 1, CLI_USAGE = 2, CLI_INCOMPLETE = 3, CLI_INTERRUPTED = 130 };

typedef enum cli_flag_kind {
    CLI_SWITCH,  // to: bool *
    CLI_TEXT,    // to: const char **; not empty
    CLI_COUNT,   // to: int *, low .. high
    CLI_INTEGER, // to: int64_t *, low .. high
    CLI_NUMBER,  // to: uint64_t *, low .. 2^64 - 1
    CLI_REAL,    // to: double *, a decimal number (sb_parse_real)
    CLI_EACH,    // to: cli_each *; may come again
} cli_flag_kind;

typedef struct cli_each { // a flag whose every value is taken by a function; false: it is not what cli_flag.value says
    bool (*take)(void *to, const char *value);
    void *to;
} cli_each;

typedef struct cli_flag {
    const char *name; // "--json-out"
    cli_flag_kind kind;
    void *to;
    int64_t low, high;
    const char *value; // "FILE", in the help
    const char *help;
} cli_flag;

// The rows of a command that takes a level and threads (isa: const char *, threads: int).
#define CLI_MACHINE_FLAGS(device, isa, threads, least_threads) \
    {"--device", CLI_TEXT, &(device), 0, 0, "D", "the device: cpu, opencl:P.D, cuda:N, hip:N (SAMEBITS_DEVICE or cpu; see doctor)"}, \
    {"--isa", CLI_TEXT, &(isa), 0, 0, "L", "the CPU level: plain v1 v3 v4 neon reverse (SAMEBITS_ISA or the best)"}, \
    {"--threads", CLI_COUNT, &(threads), least_threads, 1024, "N", "threads (SAMEBITS_THREADS or all cores)"}

// Tables of the flags --data, --target and --weights (input.c).
typedef struct cli_input {
    const char *data, *target, *weights;
    bool narrow, words, labels; // whether the target may hold words; whether it is wanted as numbers of classes
    const char *classes;        // of which names, once a model has some
    int64_t features;           // how many a model takes; 0: whatever there are
    sb_table *tables[3];        // as read, in that order
    sb_array *rest, *y, *w, *numbers; // of the data where the target is a column; vectors; numbers of classes
} cli_input;
#define CLI_INPUT_FLAGS(in) \
    {"--data", CLI_TEXT, &(in).data, 0, 0, "FILE", "the table X: .npy, .npz (FILE.npz:NAME), .svmlight, or csv (a first line of names is a header)"}, \
    {"--target", CLI_TEXT, &(in).target, 0, 0, "Y", "the target: a file, or a column of the data by its name or its number from 0; of a classifier words or numbers"}, \
    {"--weights", CLI_TEXT, &(in).weights, 0, 0, "FILE", "a weight a row"}, \
    {"--float32", CLI_SWITCH, &(in).narrow, 0, 0, NULL, "read the numbers as float32 (float64, or what an .npy file holds)"}
sb_status cli_input_read(sb_context *ctx, cli_input *in, sb_data *data, sb_error *err); // data: views of what in owns
void cli_input_free(cli_input *in);

// Reads argv[1..]: sets what the flags name (--name value, --name=value, "--" ends them), moves what is no flag to
// argv[1..*operands]. Returns -1 to go on, else the exit status (help was printed, or the error was named).
// usage: "samebits compare A.json B.json [C.json ...]"; about: what the command does; flags end with a row without a name.
int cli_flags(int argc, char **argv, const char *usage, const char *about, const cli_flag *flags, int *operands);
int cli_usage_error(const char *usage, const char *format, ...) __attribute__((format(printf, 2, 3))); // prints; CLI_USAGE

bool cli_read_number(const char *text, uint64_t *out); // digits only, no sign, no overflow

// Bytes of others for a message: printable ASCII, \xNN for the rest. Four results stay valid.
const char *cli_show(const char *text);

// "samebits verify: SB_ERR_IO (path): message" on stderr. Returns the exit status that the error stands for.
int cli_failed(const char *command, const sb_error *err);

// A usage error where the file to write (--json-out, may be NULL) is one of those to read, by whatever name; else -1.
int cli_apart(const char *usage, const char *out, int count, char **inputs);

// Prints a report's text, or its JSON, and writes the JSON to a file where one is named. Frees it.
int cli_report(const char *command, sb_report *report, bool json, const char *json_out);

int cli_verify(int argc, char **argv);
int cli_selftest(int argc, char **argv);
int cli_compare(int argc, char **argv);
int cli_bisect(int argc, char **argv);
int cli_describe(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_digest(int argc, char **argv);
int cli_fit(int argc, char **argv);
int cli_record(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_method(int argc, char **argv); // argv[0]: predict, transform, score; call METHOD
int cli_metric(int argc, char **argv);

extern const unsigned char cli_golden[]; // references/contract-1.tsv
extern const size_t cli_golden_size;
extern const unsigned char cli_proofs[]; // docs/proofs.tsv
extern const size_t cli_proofs_size;
#endif
