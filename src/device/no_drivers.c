// SPDX-License-Identifier: Apache-2.0
// The one-file build, in place of opencl_device.c, opencl_program.c, program_cache.c and cuda_device.c: it carries no texts for other devices.
#include "device.h"

sb_status sbi_opencl_list(sb_status (*visit)(void *user, const sbi_device_facts *facts, sb_error *err), void *user, sb_error *err) {
    (void)visit, (void)user, (void)err;
    return SB_OK;
}

sb_status sbi_opencl_open(int platform, int number, const char *source, sbi_device **out, sb_error *err) {
    (void)out;
    return sbi_fail(err, SB_ERR_DEVICE, source, "%s: opencl:%d.%d: this samebits is the one-file build, which knows the CPU alone", source,
                    platform, number);
}

sb_status sbi_cuda_list(sb_status (*visit)(void *user, const sbi_device_facts *facts, sb_error *err), void *user, sb_error *err) {
    (void)visit, (void)user, (void)err;
    return SB_OK;
}

sb_status sbi_cuda_open(bool hip, int number, const char *source, sbi_device **out, sb_error *err) {
    (void)out;
    return sbi_fail(err, SB_ERR_DEVICE, source, "%s: %s:%d: this samebits is the one-file build, which knows the CPU alone", source,
                    hip ? "hip" : "cuda", number);
}
