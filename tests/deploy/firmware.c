/* A program without a libc that uses a freestanding library; test_freestanding.py links it with -nostdlib, and runs it. */
#include <stddef.h>

#include "firmware.h"

enum { N = 100, K = 300, W = 8 };

static float x[N * W], out[N * W], want[N * W];
static int64_t i[K];
static float s[K * W];
static uint16_t half[50 * 4], changed[7 * 4], halves[50 * 4];
static int32_t rows[7] = {49, 0, 3, 3, 3, -1, 7};
static _Alignas(64) unsigned char scratch[fw_half_workspace_bytes];

/* -- what compilers take for granted ----------------------------------------------------------------------------------------- */

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

void *memcpy(void *to, const void *from, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k)
        ((volatile char *)to)[k] = ((const char *)from)[k];
    return to;
}

void *memset(void *to, int byte, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k)
        ((volatile char *)to)[k] = (char)byte;
    return to;
}

/* -- Linux ------------------------------------------------------------------------------------------------------------------- */

static long call(long number, long a, long b, long c) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#else
    register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
#endif
}

#if defined(__x86_64__)
enum { WRITE = 1, EXIT = 60 };
__asm__(".globl _start\n_start:\n\tcall run\n");
#else
enum { WRITE = 64, EXIT = 93 };
#if defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tbl run\n");
#else
__asm__(".globl _start\n_start:\n\tcall run\n");
#endif
#endif

static void say(const char *text) {
    size_t n = 0;
    while (text[n] != 0)
        ++n;
    call(WRITE, 1, (long)text, (long)n);
    call(WRITE, 1, (long)"\n", 1);
}

static void require(int holds, const char *what) {
    if (!holds) {
        say(what);
        call(EXIT, 1, 0, 0);
    }
}

#define REQUIRE(holds) require(holds, #holds)

/* -- the program ------------------------------------------------------------------------------------------------------------- */

static gs_error error;
static gs_options options;

void run(void);
void run(void) {
    for (int k = 0; k < N * W; ++k)
        want[k] = x[k] = (float)(k % 17);
    for (int k = 0; k < K; ++k) {
        i[k] = k * 7 % N - (k % 2 ? N : 0);
        for (int w = 0; w < W; ++w)
            want[k * 7 % N * W + w] += s[k * W + w] = (float)(k % 5 + w);
    }
    REQUIRE(fw_net(x, i, s, out, K, N, NULL, &error) == GS_OK);
    for (int k = 0; k < N * W; ++k)
        REQUIRE(out[k] == want[k]);

    i[123] = N;
    REQUIRE(fw_net(x, i, s, out, K, N, NULL, NULL) == GS_INDEX);
    REQUIRE(fw_net(x, i, s, out, K, N, NULL, &error) == GS_INDEX && error.position[0] == 123);
    say(error.text);
    i[123] = INT64_MIN;
    REQUIRE(fw_net(x, i, s, out, K, N, NULL, &error) == GS_INDEX);
    say(error.text);
    REQUIRE(fw_net(NULL, i, s, out, K, N, NULL, &error) == GS_ARGUMENT);
    say(error.text);
    REQUIRE(fw_net(x, i, s, out, K, -3, NULL, &error) == GS_SIZE);
    say(error.text);

    for (int k = 0; k < 7 * 4; ++k)
        changed[k] = 0x3f80; /* 1 */
    REQUIRE(fw_half_workspace() == fw_half_workspace_bytes && sizeof scratch > 0);
    REQUIRE(fw_half(half, rows, changed, halves, NULL, &error) == GS_MEMORY);
    say(error.text);
    options.workspace = scratch;
    REQUIRE(fw_half(half, rows, changed, halves, &options, &error) == GS_OK);
    REQUIRE(halves[3 * 4] == 0x4040 && halves[49 * 4 + 3] == 0x4000 && halves[0] == 0x3f80 && halves[4] == 0);
    call(EXIT, 0, 0, 0);
}
