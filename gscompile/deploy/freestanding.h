/* What a freestanding library has: a stack, and memcpy, memmove, memset and memcmp, which compilers take for granted.  There is no
 * storage but what the caller gives, no thread but the caller's, nothing of a libc.  Before it stands public.h. */

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#define memcpy __builtin_memcpy
#define memset __builtin_memset

static void gs_put(gs_error *e, size_t *at, char c) {
    if (*at + 1 < sizeof e->text)
        e->text[(*at)++] = c;
}

static void gs_put_number(gs_error *e, size_t *at, unsigned long long number) {
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        gs_put(e, at, digits[--count]);
}

/* printf of %s, %d, %lld and %llu, at the end of the text, whose rest is 0. */
__attribute__((format(printf, 2, 3))) static void gs_say(gs_error *e, const char *format, ...) {
    size_t at = 0;
    va_list args;
    va_start(args, format);
    while (e->text[at] != 0)
        ++at;
    for (const char *f = format; *f != 0; ++f) {
        if (*f != '%') {
            gs_put(e, &at, *f);
            continue;
        }
        int wide = f[1] == 'l';
        f += wide ? 3 : 1;
        if (*f == 's') {
            for (const char *s = va_arg(args, const char *); *s != 0; ++s)
                gs_put(e, &at, *s);
            continue;
        }
        long long number = wide ? va_arg(args, long long) : va_arg(args, int);
        if (*f == 'd' && number < 0)
            gs_put(e, &at, '-');
        gs_put_number(e, &at, *f == 'd' && number < 0 ? 0ull - (unsigned long long)number : (unsigned long long)number);
    }
    va_end(args);
}

/* What a call has of its system. */
typedef struct {
    void *scratch;
    int64_t threads;
} GsVisit;

/* Before a kernel; whether there is scratch memory. */
static int gs_enter(GsVisit *v, const gs_options *options, int64_t workspace) {
    v->scratch = options->workspace;
    v->threads = 1;
    return workspace <= 0 || v->scratch != NULL;
}

/* After it. */
static void gs_leave(GsVisit *v) { (void)v; }

#ifdef __wasm__
/* The product of numbers of 128 bits, which LLVM's code for WebAssembly calls. */
typedef union {
    __int128 whole;
    struct {
        uint64_t low, high;
    } half;
} GsWide;

__int128 __multi3(__int128 a, __int128 b);
__int128 __multi3(__int128 a, __int128 b) {
    GsWide x = {a}, y = {b}, product;
    uint64_t x0 = (uint32_t)x.half.low, x1 = x.half.low >> 32, y0 = (uint32_t)y.half.low, y1 = y.half.low >> 32;
    uint64_t low = x0 * y0, middle = x1 * y0 + (low >> 32), rest = x0 * y1 + (uint32_t)middle;
    product.half.low = rest << 32 | (uint32_t)low;
    product.half.high = x1 * y1 + (middle >> 32) + (rest >> 32) + x.half.low * y.half.high + x.half.high * y.half.low;
    return product.whole;
}
#endif
