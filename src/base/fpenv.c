// SPDX-License-Identifier: Apache-2.0
// The floating-point environment of the contract (T1): nearest even, subnormals kept, no traps. A program that was
// linked with fast-math start-up code runs with flush-to-zero; nothing of that may reach a bit, and nothing of ours
// may stay behind. These are calls into another translation unit on purpose: no compiler moves arithmetic over them.
#include "base.h"

#if defined(__x86_64__)
// MXCSR: all exceptions masked (bits 7 to 12), nearest (13, 14), no FTZ (15), no DAZ (6), flags clear. x87 is unused.
sbi_fpenv sbi_fpenv_enter(void) {
    uint32_t before;
    const uint32_t ours = 0x1f80;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    __asm__ volatile("ldmxcsr %0" : : "m"(ours));
    return (sbi_fpenv){before};
}

void sbi_fpenv_leave(sbi_fpenv before) {
    const uint32_t word = (uint32_t)before.word;
    __asm__ volatile("ldmxcsr %0" : : "m"(word));
}
#elif defined(__aarch64__)
// FPCR 0: nearest, no flushing (FZ, FIZ), no default NaN, no traps. The flags live in FPSR.
sbi_fpenv sbi_fpenv_enter(void) {
    uint64_t control, flags;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return (sbi_fpenv){(control & 0xffffffffu) | flags << 32};
}

void sbi_fpenv_leave(sbi_fpenv before) {
    __asm__ volatile("msr fpcr, %0" : : "r"(before.word & 0xffffffffu));
    __asm__ volatile("msr fpsr, %0" : : "r"(before.word >> 32));
}
#elif defined(__riscv) && defined(__riscv_flen)
// fcsr 0: nearest even, flags clear; there is neither flushing nor trapping.
sbi_fpenv sbi_fpenv_enter(void) {
    uint64_t before;
    __asm__ volatile("frcsr %0" : "=r"(before));
    __asm__ volatile("fscsr %0" : : "r"((uint64_t)0));
    return (sbi_fpenv){before};
}

void sbi_fpenv_leave(sbi_fpenv before) {
    __asm__ volatile("fscsr %0" : : "r"(before.word));
}
#elif defined(__s390x__)
// FPC 0: no traps (byte 0), flags clear (byte 1), nearest even (low bits); there is no flushing.
sbi_fpenv sbi_fpenv_enter(void) {
    uint32_t before;
    __asm__ volatile("efpc %0,0" : "=d"(before));
    __asm__ volatile("sfpc %0,0" : : "d"((uint32_t)0));
    return (sbi_fpenv){before};
}

void sbi_fpenv_leave(sbi_fpenv before) {
    __asm__ volatile("sfpc %0,0" : : "d"((uint32_t)before.word));
}
#elif defined(__arm__) && defined(__ARM_FP)
// FPSCR 0: nearest, no flushing (FZ), no default NaN (DN), no traps, flags clear.
sbi_fpenv sbi_fpenv_enter(void) {
    uint32_t before;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(before));
    __asm__ volatile("vmsr fpscr, %0" : : "r"(0));
    return (sbi_fpenv){before};
}

void sbi_fpenv_leave(sbi_fpenv before) {
    __asm__ volatile("vmsr fpscr, %0" : : "r"((uint32_t)before.word));
}
#elif defined(__arm__)
// No floating-point unit: the compiler's library computes, to nearest even, with subnormals, and has no state.
sbi_fpenv sbi_fpenv_enter(void) {
    return (sbi_fpenv){0};
}

void sbi_fpenv_leave(sbi_fpenv before) {
    (void)before;
}
#else
#error "this architecture's floating-point environment is not written yet: see contract T1"
#endif
