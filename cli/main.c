// SPDX-License-Identifier: Apache-2.0
// samebits: the command. One row per command.
#include "cli.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

int sbi_cli_lm(int argc, char **argv);
int sbi_cli_prove(int argc, char **argv);
int sbi_cli_demo(int argc, char **argv);

static const struct command {
    const char *name, *about;
    int (*run)(int argc, char **argv); // argv[0] is the command's name
} commands[] = {
    {"doctor", "look at this machine: levels, threads, compiler, conformance", cli_doctor},
    {"describe", "what this samebits can do: operations, dtypes, functions, levels", cli_describe},
    {"verify", "compare what this machine computes with the golden values", cli_verify},
    {"compare", "compare evidence documents of any number of machines", cli_compare},
    {"bisect", "name the first operation in which two traces differ", cli_bisect},
    {"selftest", "prove that verify can fail", cli_selftest},
    {"prove", "run a function over all 2^32 inputs against MPFR", sbi_cli_prove},
    {"fit", "fit an estimator to a table and keep it in a file", cli_fit},
    {"predict", "what a fitted estimator predicts", cli_method},
    {"transform", "a table as a fitted estimator transforms it", cli_method},
    {"score", "how well a fitted estimator does", cli_method},
    {"call", "any other method of a fitted estimator", cli_method},
    {"record", "keep what fitted models made of a table, to be replayed", cli_record},
    {"replay", "compute a recording again and say what differs", cli_replay},
    {"metric", "how good predictions are", cli_metric},
    {"digest", "the SHA-256 of a file and of the arrays in it", cli_digest},
    {"demo", "train one language model by two routes to the same bits", sbi_cli_demo},
    {"lm", "train, resume, evaluate, run language models", sbi_cli_lm},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *to) {
    fprintf(to, "samebits: the same bits on every machine\n\nusage: samebits COMMAND [--help] ...\n       samebits --version\n\n");
    for (int i = 0; i < COMMANDS; i++) {
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].about);
    }
    fprintf(to, "\nexit status: 0 good, 1 a difference was found, 2 wrong usage, 3 not everything could be done\n");
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return CLI_GOOD;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("samebits %s, contract %d, commit %s\n", sb_version(), SB_CONTRACT, sb_commit());
        return CLI_GOOD;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return cli_usage_error("samebits COMMAND [--help] ...", "there is no command \"%s\" (samebits --help lists them)", cli_show(argv[1]));
}

// A standard stream that the caller closed would give its number to the next file or socket, and what is printed would
// go there. A folder opened for reading holds the place: writing to it fails, as it should, and is reported.
static void hold_standard_streams(void) {
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) < 0)
            (void)open("/", O_RDONLY | O_DIRECTORY);
}

int main(int argc, char **argv) {
    hold_standard_streams();
    signal(SIGXFSZ, SIG_IGN); // a file beyond the limit (ulimit -f) is a named error
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) { // a full disk, a closed pipe: what was printed did not arrive
        fprintf(stderr, "samebits: standard output could not be written\n");
        return status == CLI_GOOD ? CLI_INCOMPLETE : status;
    }
    return status;
}
