// SPDX-License-Identifier: Apache-2.0
// The subcommand `samebits prove`; argv[0] is "prove". Returns the exit status.
#ifndef SBI_CLI_PROVE_H
#define SBI_CLI_PROVE_H

int sbi_cli_prove(int argc, char **argv);
#endif
