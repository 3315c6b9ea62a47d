/* What a library has of libc.  Before it stands public.h. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void gs_say(gs_error *e, const char *format, ...) {
    size_t n = strlen(e->text);
    va_list args;
    va_start(args, format);
    vsnprintf(e->text + n, sizeof e->text - n, format, args);
    va_end(args);
}
