/* What a freestanding library has: a stack, and memcpy, memmove, memset and memcmp, which compilers take for granted.  There is no
 * storage but what the caller gives, no thread but the caller's, nothing of a libc.  Before it stands public.h. */

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

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
