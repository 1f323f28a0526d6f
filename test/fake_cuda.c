// SPDX-License-Identifier: Apache-2.0
// A driver and a run-time compiler that stand in for NVIDIA's, or for AMD's (FAKE_HIP), in test_cuda.py: they hold the library
// to the rules of the real ones (a context of the thread's own, memory that the host cannot follow, modules of what was
// compiled, every argument in its width) and run the kernels on this CPU. What a real device does they do not show.
//   FAKE_FAIL=Allocate:3   the third call of that entry fails with the code for no memory (of another entry: with 999)
//   FAKE_LOST=Launch:20    from that call on everything in a context fails with the code for a kernel that failed
//   FAKE_MEMORY=67108864   so much memory in all
//   FAKE_CHIP=gfx942       the chip whose code objects are taken (others: code 209); of none else. sm_86: cubins of the same
//                          generation that are no newer
//   FAKE_FLUSH=1           subnormals are flushed: a device that must be refused
//   FAKE_COUNT=FILE        the calls of every entry, when the program ends
#include "cuda_entries.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAKE_HIP
#define FAKE_NAME(cuda, hip) hip
#else
#define FAKE_NAME(cuda, hip) cuda
#endif
#define DECLARE(entry, cuda, hip, parameters) \
    __attribute__((visibility("default"))) int fake_##entry parameters __asm__(FAKE_NAME(cuda, hip));
CUDA_ENTRIES(DECLARE)
CUDA_COMPILER_ENTRIES(DECLARE)

#define INDEX(entry, cuda, hip, parameters) AT_##entry,
enum { CUDA_ENTRIES(INDEX) CUDA_COMPILER_ENTRIES(INDEX) ENTRIES };
#define WORD(entry, cuda, hip, parameters) #entry,
static const char *const words[] = {CUDA_ENTRIES(WORD) CUDA_COMPILER_ENTRIES(WORD)};
static long calls[ENTRIES];

// Memory of the device: the host's, at addresses that the host cannot follow.
static const uintptr_t away = (uintptr_t)1 << 62;
enum { SIZE_ROOM = 64 }; // before an array, for its size
static _Thread_local int depth;
static long arrays, modules, retained, lost, cubins, cubin_chip;
static size_t held; // bytes

static size_t whole(void) {
    const char *given = getenv("FAKE_MEMORY");
    return given ? (size_t)atol(given) : (size_t)1 << 32;
}

static void tell(void) {
    FILE *file = fopen(getenv("FAKE_COUNT"), "w");
    if (!file) return;
    for (int i = 0; i < ENTRIES; i++) fprintf(file, "%s %ld\n", words[i], __atomic_load_n(&calls[i], __ATOMIC_RELAXED));
    fprintf(file, "cubins %ld of %ld\n", cubins, cubin_chip);
    fprintf(file, "left %ld %ld %ld\n", arrays, modules, retained);
    fclose(file);
}

static void rule(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "fake driver: %s\n", what);
    abort();
}

// Whether `text`, "Entry:n", names this call.
static int named(const char *text, int entry, long now) {
    const char *colon = text ? strchr(text, ':') : NULL;
    return colon && strncmp(text, words[entry], (size_t)(colon - text)) == 0 && !words[entry][colon - text] && now == atol(colon + 1);
}

static int count(int entry) { // 0, or the code with which this call is to fail
    long now = __atomic_add_fetch(&calls[entry], 1, __ATOMIC_RELAXED);
    if (named(getenv("FAKE_LOST"), entry, now)) __atomic_store_n(&lost, 719, __ATOMIC_RELAXED);
    if (!named(getenv("FAKE_FAIL"), entry, now)) return 0;
    return entry == AT_Allocate ? CUDA_NO_MEMORY : 999;
}
#define COUNTED(entry) \
    do { \
        int counted = count(AT_##entry); \
        if (counted) return counted; \
    } while (0)
#define IN_CONTEXT(entry) \
    COUNTED(entry); \
    rule(depth == 1, #entry " outside a context"); \
    if (__atomic_load_n(&lost, __ATOMIC_RELAXED)) return (int)lost

int fake_Init(unsigned flags) {
    COUNTED(Init);
    if (getenv("FAKE_COUNT") && calls[AT_Init] == 1) atexit(tell);
    return flags != 0;
}
int fake_Driver(int *version) { *version = 12080; return count(AT_Driver); }
int fake_Count(int *number) { *number = 2; return count(AT_Count); }
int fake_Device(int *device, int number) { *device = 70 + number; return count(AT_Device) ? 999 : number < 0 || number > 1; }
int fake_Name(char *name, int size, int device) {
    COUNTED(Name);
    rule(device >= 70 && device < 72, "a device of another number");
    snprintf(name, (size_t)size, "CPU in disguise %d", device - 70);
    return 0;
}
int fake_Memory(size_t *bytes, int device) { (void)device; *bytes = whole(); return count(AT_Memory); }
int fake_Attribute(int *value, int attribute, int device) {
    COUNTED(Attribute);
    rule(attribute == FAKE_NAME(CUDA_UNITS, HIP_UNITS) && device >= 70 && device < 72, "another attribute, or device");
    *value = 4;
    return 0;
}
int fake_Retain(void **context, int device) {
    COUNTED(Retain);
    retained++;
    *context = (void *)(uintptr_t)(4096 + device);
    return 0;
}
int fake_Leave(int device) { rule(device >= 70, "a device of another number"); retained--; return count(AT_Leave); }
int fake_Push(void *context) {
    COUNTED(Push);
    rule((uintptr_t)context >= 4096 + 70 && (uintptr_t)context < 4096 + 72, "no context of a device");
    rule(depth++ == 0, "a context pushed twice");
    return 0;
}
int fake_Pop(void **context) { *context = NULL; rule(depth-- == 1, "a context popped that was not pushed"); return count(AT_Pop); }

static void *followed(const void *address) {
    rule(((uintptr_t)address & away) != 0, "an address that is not the device's");
    return (void *)((uintptr_t)address & ~away);
}
int fake_Allocate(void **address, size_t bytes) {
    IN_CONTEXT(Allocate);
    rule(bytes > 0, "an array of no bytes");
    const size_t room = whole();
    unsigned char *memory = __atomic_add_fetch(&held, bytes, __ATOMIC_RELAXED) > room ? NULL : malloc(bytes + SIZE_ROOM);
    if (!memory) {
        __atomic_sub_fetch(&held, bytes, __ATOMIC_RELAXED);
        return CUDA_NO_MEMORY;
    }
    memcpy(memory, &bytes, sizeof bytes);
    memset(memory + SIZE_ROOM, 0xa5, bytes); // (a driver clears nothing)
    __atomic_add_fetch(&arrays, 1, __ATOMIC_RELAXED);
    *address = (void *)((uintptr_t)(memory + SIZE_ROOM) | away);
    return 0;
}
int fake_Free(void *address) {
    IN_CONTEXT(Free);
    unsigned char *memory = (unsigned char *)followed(address) - SIZE_ROOM;
    size_t bytes;
    memcpy(&bytes, memory, sizeof bytes);
    __atomic_sub_fetch(&held, bytes, __ATOMIC_RELAXED);
    free(memory);
    __atomic_sub_fetch(&arrays, 1, __ATOMIC_RELAXED);
    return 0;
}
int fake_Fill(void *address, unsigned char value, size_t bytes, void *stream) {
    IN_CONTEXT(Fill);
    rule(!stream, "another stream");
    memset(followed(address), value, bytes);
    return 0;
}
int fake_Write(void *to, const void *from, size_t bytes) { IN_CONTEXT(Write); memcpy(followed(to), from, bytes); return 0; }
int fake_Read(void *to, const void *from, size_t bytes) { IN_CONTEXT(Read); memcpy(to, followed(from), bytes); return 0; }
int fake_Copy(void *to, const void *from, size_t bytes, void *stream) {
    IN_CONTEXT(Copy);
    rule(!stream, "another stream");
    memcpy(followed(to), followed(from), bytes);
    return 0;
}

// ---- programs: the "code" is a mark and the text's name

typedef struct program {
    char name[64];
    int built;
} program;

int fake_Create(void **out, const char *text, const char *name, int headers, const char *const *bodies, const char *const *names) {
    COUNTED(Create);
    rule(!headers && !bodies && !names, "a text with headers");
    rule(strstr(text, "__attribute__((global))") && !strstr(text, "#include") && !strstr(text, "sbi_place_"), "not a text of this dialect");
    rule(strstr(text, FAKE_NAME("%tid.x", "__builtin_amdgcn_workitem_id_x")) != NULL, "a text of another dialect");
    program *p = calloc(1, sizeof *p);
    snprintf(p->name, sizeof p->name, "code of %s", name);
    *out = p;
    return 0;
}
int fake_Compile(void *handle, int number, const char *const *options) {
    COUNTED(Compile);
    int strict = 0;
    for (int i = 0; i < number; i++) strict |= strcmp(options[i], FAKE_NAME("--fmad=false", "-ffp-contract=off")) == 0;
    rule(strict, "compiled so that it may fuse");
    ((program *)handle)->built = 1;
    return 0;
}
int fake_CodeSize(void *handle, size_t *size) { COUNTED(CodeSize); *size = strlen(((program *)handle)->name) + 1; return 0; }
int fake_Code(void *handle, char *code) {
    COUNTED(Code);
    rule(((program *)handle)->built, "the code of what was not compiled");
    strcpy(code, ((program *)handle)->name);
    return 0;
}
int fake_Version(int *major, int *minor) { *major = 12, *minor = 8; return count(AT_Version); }
static const char log_text[] = "k.cu(7): error: planted\n\ttwice";
int fake_LogSize(void *handle, size_t *size) { (void)handle; *size = sizeof log_text; return count(AT_LogSize); }
int fake_Log(void *handle, char *log) { (void)handle; strcpy(log, log_text); return count(AT_Log); }
int fake_Destroy(void **handle) { free(*handle); *handle = NULL; return count(AT_Destroy); }

#define SBI_KERNEL_FILE(name) #name,
#define SBI_KERNEL(name, lanes, number, ...)
static const char *const files[] = {
#include "all_kernels.h"
};
#undef SBI_KERNEL_FILE
#undef SBI_KERNEL

static int holds(const char *bytes, size_t size, const char *word) {
    const size_t length = strlen(word) + 1; // with its end
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(bytes + i, word, length) == 0) return 1;
    return 0;
}

#ifndef FAKE_HIP
// Whether a cubin is for this chip. Its number stands in the second byte of the flags, up to the seventh form of such files in the first.
static int cubin_fits(const unsigned char *image, uint32_t flags) {
    const char *chip = getenv("FAKE_CHIP");
    const long here = chip && strncmp(chip, "sm_", 3) == 0 ? atol(chip + 3) : 0, its = flags >> (image[8] >= 8 ? 8 : 0) & 0xff;
    if (its / 10 != here / 10 || its > here) return 0;
    cubins++;
    cubin_chip = its;
    return 1;
}
#endif

// Which file's code object this is, by the names in it; NULL: another chip's.
static const char *object_of(const char *image) {
    uint64_t sections;
    uint32_t flags;
    uint16_t size, number;
    memcpy(&sections, image + 40, 8), memcpy(&flags, image + 48, 4), memcpy(&size, image + 58, 2), memcpy(&number, image + 60, 2);
    const size_t whole_size = (size_t)sections + (size_t)size * number;
#ifdef FAKE_HIP
    static const struct { const char *chip; uint32_t machine; } chips[] = {{"gfx90a", 0x3f}, {"gfx942", 0x4c}, {"gfx1100", 0x41}, {"gfx1201", 0x4e}};
    const char *chip = getenv("FAKE_CHIP");
    size_t i = 0;
    while (i < sizeof chips / sizeof *chips && chip && strcmp(chip, chips[i].chip) != 0) i++;
    if (!chip || i == sizeof chips / sizeof *chips || (flags & 0xff) != chips[i].machine) return NULL;
#else
    if (!cubin_fits((const unsigned char *)image, flags)) return NULL;
#endif
    for (int file = 0; file < SBI_KERNEL_FILES; file++)
        if (holds(image, whole_size, sbi_kernel_infos[sbi_kernel_firsts[file]].name)) return files[file];
    rule(0, "a code object without kernels");
    return NULL;
}

static const char *ptx_of(const char *image) {
    char entry[96];
    rule(strstr(image, ".target sm_80") != NULL && !strstr(image, ".ftz"), "PTX for another chip, or that flushes");
    for (int file = 0; file < SBI_KERNEL_FILES; file++) {
        snprintf(entry, sizeof entry, ".entry %s(", sbi_kernel_infos[sbi_kernel_firsts[file]].name);
        if (strstr(image, entry)) return files[file];
    }
    rule(0, "PTX without kernels");
    return NULL;
}

int fake_Load(void **module, const void *image) {
    IN_CONTEXT(Load);
    const char *name = NULL;
    if (strncmp(image, "code of ", 8) == 0)
        name = (const char *)image + 8;
    else if (memcmp(image, "\177ELF", 4) == 0)
        name = object_of(image);
    else if (strstr(image, ".version") != NULL)
        name = ptx_of(image);
    else
        return 200; // (an invalid image)
    if (!name) return 209; // (no binary for this device)
    modules++;
    *module = strdup(name);
    return 0;
}
int fake_Unload(void *module) { IN_CONTEXT(Unload); free(module); modules--; return 0; }

int fake_Function(void **function, void *module, const char *name) {
    IN_CONTEXT(Function);
    for (int id = 0, file = 0; id < SBI_KERNEL_COUNT; id++) {
        while (sbi_kernel_firsts[file + 1] <= id) file++;
        if (strcmp(sbi_kernel_infos[id].name, name) != 0) continue;
        rule(strcmp(files[file], module) == 0, "a kernel of another module");
        *function = (void *)&sbi_kernel_infos[id];
        return 0;
    }
    return 500; // (not found)
}

int fake_Launch(void *function, unsigned x, unsigned y, unsigned z, unsigned lanes, unsigned lanes_y, unsigned lanes_z, unsigned shared,
                void *stream, void **arguments, void **extra) {
    IN_CONTEXT(Launch);
    const sbi_kernel_info *info = function;
    sbi_arg args[32];
    const char *kind = info->kinds;
    rule(x > 0 && y == 1 && z == 1 && (int)lanes == info->lanes && lanes_y == 1 && lanes_z == 1 && !shared && !stream && !extra, "a launch of another shape");
    for (int i = 0; i < info->count; i++) {
        size_t length = strcspn(kind, ", ");
        args[i].u = 0;
        if (*kind == 'c' || kind[length - 1] == 'p') {
            memcpy(&args[i].out, arguments[i], sizeof args[i].out);
            if (args[i].out) args[i].out = followed(args[i].out);
        } else if (strncmp(kind, "f32", 3) == 0) {
            float narrow;
            memcpy(&narrow, arguments[i], sizeof narrow);
            args[i].f = (double)narrow;
        } else if (kind[1] == '3') {
            int32_t narrow;
            memcpy(&narrow, arguments[i], sizeof narrow);
            args[i].i = kind[0] == 'u' ? (int64_t)(uint32_t)narrow : narrow;
        } else {
            memcpy(&args[i], arguments[i], sizeof args[i]);
        }
        kind += length + strspn(kind + length, ", ");
    }
    const sbi_kernel_table *const *table = sbi_kernel_levels;
    while (*table && strcmp((*table)->level, "plain") != 0) table++;
#if defined(__SSE2__)
    const unsigned mode = __builtin_ia32_stmxcsr();
    if (getenv("FAKE_FLUSH")) __builtin_ia32_ldmxcsr(mode | 0x8040);
#endif
    const sbi_scratch_need *need = (*table)->scratch; // (what a GPU's lanes have of their own)
    while (need->bytes > 0 && need->kernel != (sbi_kernel_id)(info - sbi_kernel_infos)) need++;
    void *scratch = aligned_alloc(64, (size_t)(need->bytes + 64) / 64 * 64);
    (*table)->run[info - sbi_kernel_infos](args, 0, x, scratch);
    free(scratch);
#if defined(__SSE2__)
    __builtin_ia32_ldmxcsr(mode);
#endif
    return 0;
}
