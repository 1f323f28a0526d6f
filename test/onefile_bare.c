// SPDX-License-Identifier: Apache-2.0
// What a bare 32-bit Arm core needs beside the one-file build: a vector table, the start, a heap. Text goes out by
// semihosting (newlib's rdimon). The memory is that of the Arm MPS2 board with a Cortex-M4 (onefile_bare.ld).
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern char data_from[], data_start[], data_end[], bss_start[], bss_end[], stack_top[], heap_start[], heap_end[];
int main(void);
void initialise_monitor_handles(void);
void start(void);
static void fault(void);

void *_sbrk(ptrdiff_t bytes);
void *_sbrk(ptrdiff_t bytes) {
    static char *heap = heap_start;
    if (bytes > heap_end - heap) return (void *)-1;
    heap += bytes;
    return heap - bytes;
}

void start(void) {
    memcpy(data_start, data_from, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
    initialise_monitor_handles();
    exit(main());
}

static void fault(void) {
    static const char text[] = "a fault of the processor\n";
    register int number __asm__("r0") = 4; // SYS_WRITE0
    register const char *argument __asm__("r1") = text;
    __asm__ volatile("bkpt 0xab" : "+r"(number) : "r"(argument) : "memory");
    _Exit(2);
}

__attribute__((section(".vectors"), used)) static const struct { void *stack; void (*handlers[7])(void); } vectors = {
    stack_top, {start, fault, fault, fault, fault, fault, fault}};
