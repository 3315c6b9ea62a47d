/* What every exported library has beside its kernels.  Before it stand public.h, and libc.h or freestanding.h. */

#define GS_PUBLIC __attribute__((visibility("default")))
#define GS_INLINE static inline __attribute__((unused)) /* not every graph calls it */

/* -- what compiled code calls ------------------------------------------------------------------------------------------------ */

typedef struct {
    int32_t type;
    uint32_t padding;
    union {
        const void *pointer;
        int64_t number;
    } is;
} GsAny; /* TVMFFIAny */

enum { GS_INT = 1, GS_POINTER = 4 }; /* types; 0 of NULL */

typedef int (*GsKernel)(void *self, GsAny *args, int32_t count, GsAny *result);

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int count);
void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int count) { (void)kind, (void)parts, (void)count; }

/* -- errors ------------------------------------------------------------------------------------------------------------------ */

static void gs_say_list(gs_error *e, const char *open, const int64_t *numbers, int count, const char *close) {
    gs_say(e, "%s", open);
    for (int k = 0; k < count; ++k)
        gs_say(e, k == 0 ? "%lld" : ", %lld", (long long)numbers[k]);
    gs_say(e, "%s", close);
}

static gs_error *gs_begin(gs_error *e, int code) {
    memset(e, 0, sizeof *e);
    e->code = code;
    e->high = -1;
    return e;
}

/* A failure with a sentence. */
#define GS_FAIL(error, with, ...)                    \
    do {                                             \
        if ((error) != NULL)                         \
            gs_say(gs_begin(error, with), __VA_ARGS__); \
        return with;                                 \
    } while (0)

/* An index that was found out of range; see gscompile/compiler/bounds_errors.py, whose sentences these are. */
typedef struct {
    const char *op, *tensor, *changed;
    int same, inner, raises, negative, is_unsigned;
    int rank; /* of position; -1: not known */
    int axis, data_rank;
    const int64_t *position, *extents;
    int64_t slice, number;
} GsFound;

GS_INLINE void gs_out_of_range(gs_error *e, const GsFound *f) {
    int64_t size = f->extents[f->axis], count = size - f->slice + 1, low = f->negative ? -size : 0;
    int fits = !f->is_unsigned || f->number >= 0;
    gs_begin(e, GS_INDEX);
    e->op = f->op;
    e->tensor = f->tensor;
    if (f->raises && count > 0 && fits && ((low <= f->number && f->number < count - size) || (0 <= f->number && f->number < count))) {
        gs_say(e, "%s", f->changed);
        return;
    }
    e->value = f->number;
    e->is_unsigned = f->is_unsigned;
    e->rank = f->rank < 0 ? 0 : f->rank < GS_RANK ? f->rank : GS_RANK;
    memcpy(e->position, f->position, sizeof(int64_t) * (size_t)e->rank);
    gs_say(e, "%s: %s", f->op, f->tensor);
    if (f->rank > 0)
        gs_say_list(e, "[", f->position, f->rank, "]");
    gs_say(e, f->is_unsigned ? " %s %llu" : " %s %lld", f->same ? "=" : "gives", (long long)f->number);
    int none = !f->raises || count <= 0;
    gs_say(e, none ? "%shas nowhere to point to: " : "%sis out of range for ", f->same ? " " : ", which ");
    if (f->inner)
        gs_say(e, "an axis of %lld", (long long)size);
    else {
        gs_say(e, "axis %d of data ", f->axis);
        gs_say_list(e, "(", f->extents, f->data_rank, f->data_rank == 1 ? ",)" : ")");
    }
    if (none) {
        gs_say(e, " has no valid position");
        return;
    }
    e->low = low;
    e->high = count - 1;
    gs_say(e, ": valid are %lld to %lld", (long long)low, (long long)(count - 1));
}

/* -- sizes ------------------------------------------------------------------------------------------------------------------- */

GS_INLINE int64_t gs_add(int64_t a, int64_t b, int *bad) {
    int64_t c = 0;
    *bad |= __builtin_add_overflow(a, b, &c);
    return c;
}

GS_INLINE int64_t gs_mul(int64_t a, int64_t b, int *bad) {
#if UINTPTR_MAX > UINT32_MAX
    int64_t c = 0;
    *bad |= __builtin_mul_overflow(a, b, &c);
    return c;
#else /* without 128 bits, which compilers call a function for */
    int64_t c = (int64_t)((uint64_t)a * (uint64_t)b);
    *bad |= (a == -1 && b == INT64_MIN) || (a != 0 && a != -1 && c / a != b);
    return c;
#endif
}

GS_INLINE int64_t gs_div(int64_t a, int64_t b, int *bad) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
        *bad = 1;
        return 0;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

GS_INLINE int64_t gs_max(int64_t a, int64_t b) { return a > b ? a : b; }
GS_INLINE int64_t gs_min(int64_t a, int64_t b) { return a < b ? a : b; }

/* -- calls ------------------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    const void *at;
    int64_t bytes;
    int alignment;
    int over; /* an output: which input's storage it may be; -1 for none */
} GsArray;

typedef struct {
    const char *name;
    int inputs, outputs, sizes, checks;
    void (*explain)(int32_t check, int64_t at, int64_t number, const int64_t *size, gs_error *e);
    const char *changed; /* the sentence for an index that was out of range, and is no more */
} GsGraph;

/* Calls a kernel that takes constants after its inputs. */
GS_INLINE int gs_with_constants(GsKernel kernel, int inputs, const void *const *constants, int count, GsAny *all, GsAny *args, int32_t given,
                             GsAny *result) {
    memcpy(all, args, sizeof(GsAny) * (size_t)inputs);
    for (int k = 0; k < count; ++k)
        all[inputs + k].is.pointer = constants[k];
    memcpy(all + inputs + count, args + inputs, sizeof(GsAny) * (size_t)(given - inputs));
    return kernel(NULL, all, given + count, result);
}

static int gs_apart(const GsArray *a, const GsArray *b) {
    uint64_t p = (uintptr_t)a->at, q = (uintptr_t)b->at; /* sizes may pass an address of 32 bits */
    return a->bytes == 0 || b->bytes == 0 || p + (uint64_t)a->bytes <= q || q + (uint64_t)b->bytes <= p;
}

/* Checks the arrays, inputs and then outputs; the in-place flags, or -1 with an error. */
static int64_t gs_check_arrays(const GsGraph *g, const GsArray *arrays, gs_error *error) {
    int64_t flags = 0;
    int count = g->inputs + g->outputs;
    for (int k = 0; k < count; ++k) {
        const GsArray *a = &arrays[k];
        const char *wrong = a->at == NULL && a->bytes > 0 ? "NULL" : (uintptr_t)a->at % (uintptr_t)a->alignment != 0 ? "not aligned" : NULL;
        if (wrong != NULL) {
            if (error != NULL)
                gs_say(gs_begin(error, GS_ARGUMENT), "%s: %s is %s", g->name, a->name, wrong);
            return -1;
        }
        for (int j = 0; k >= g->inputs && j < k; ++j) {
            if (j < g->inputs && j == a->over && arrays[j].at == a->at && arrays[j].bytes == a->bytes)
                flags |= (int64_t)1 << (k - g->inputs);
            else if (!gs_apart(a, &arrays[j])) {
                if (error != NULL)
                    gs_say(gs_begin(error, GS_ARGUMENT), "%s: %s overlaps %s", g->name, a->name, arrays[j].name);
                return -1;
            }
        }
    }
    return flags;
}

/* Checks what a call was given, and takes default options where there are none; the in-place flags, or -1 with an error. */
static int64_t gs_check_call(const GsGraph *g, const GsArray *arrays, const gs_options **options, gs_error *error) {
    static const gs_options defaults;
    int64_t flags = gs_check_arrays(g, arrays, error);
    if (flags < 0)
        return -1;
    if (*options == NULL)
        *options = &defaults;
    if ((uintptr_t)(*options)->workspace % 64 != 0) {
        if (error != NULL)
            gs_say(gs_begin(error, GS_ARGUMENT), "%s: workspace is not aligned to 64 bytes", g->name);
        return -1;
    }
    return flags;
}

/* What a status record says. */
static int gs_checked(const GsGraph *g, const int64_t *status, const int64_t *size, gs_error *error) {
    if (g->checks == 0 || status[0] == 0)
        return GS_OK;
    if (error == NULL)
        return GS_INDEX;
    for (int k = 0; k < g->checks; ++k)
        if (status[1 + 2 * k] != INT64_MAX) {
            g->explain(k, status[1 + 2 * k], status[2 + 2 * k], size, error);
            return GS_INDEX;
        }
    gs_say(gs_begin(error, GS_INDEX), "%s", g->changed);
    return GS_INDEX;
}
