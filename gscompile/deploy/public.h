#ifndef GSCOMPILE_H
#define GSCOMPILE_H
#include <stdint.h>

/* Calls task(job, k) for each k in [0, tasks), in any order, on any threads, and returns when all of them have returned. */
typedef void (*gs_parallel_for)(void *context, int64_t tasks, void (*task)(void *job, int64_t k), void *job);

/* What a call may say; NULL, and zeros, for the defaults. */
typedef struct gs_options {
    int64_t threads;              /* among which its work is shared; 0: as many as this process has cores */
    gs_parallel_for parallel_for; /* somebody else's threads; NULL: the library's own */
    void *context;                /* for parallel_for */
    void *workspace;              /* scratch memory, aligned to 64 bytes; NULL: the library's own, of which up to 256 MB stay with it */
    void *stream;                 /* a CUstream; CPUs do not look at it */
    int64_t deferred;             /* on a GPU: not 0: do not wait for index checks; NAME_check says what they found */
} gs_options;

enum gs_code {
    GS_OK = 0,
    GS_INDEX = 1,    /* an index is out of range: outputs that are not inputs may hold anything */
    GS_SIZE = 2,     /* sizes are negative, too large, or break a rule */
    GS_ARGUMENT = 3, /* a pointer is NULL or not aligned, or an output overlaps something */
    GS_MEMORY = 4,   /* no room for scratch memory */
    GS_CPU = 5,      /* this CPU lacks what the code was compiled for */
    GS_FAILED = 6,   /* a kernel failed: never seen */
    GS_DEVICE = 7,   /* no CUDA driver, no GPU that there is code for, or what the driver refuses */
    GS_WEIGHTS = 8   /* the file of constants is not found, or is not this library's */
};

enum { GS_RANK = 16, GS_TEXT = 512 };

/* Why a call failed.  What has no meaning for a code is 0, NULL or empty. */
typedef struct gs_error {
    int32_t code;
    int32_t rank;               /* of position */
    int64_t position[GS_RANK];  /* in the index tensor, of the first index out of range in row-major order */
    int64_t value;              /* what stands there; the bits of a uint64 where is_unsigned is not 0 */
    int64_t is_unsigned;
    int64_t low, high;          /* the least and the greatest that is valid; low > high: none is */
    const char *op, *tensor;    /* names */
    char text[GS_TEXT];         /* all of that in a sentence */
} gs_error;
#endif
