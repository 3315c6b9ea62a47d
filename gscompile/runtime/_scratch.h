/* Scratch memory of calls on the CPU.  Plain C11; nothing of Python or TVM is needed.
 *
 * Pages that the system gives anew cost more, when they are first touched, than many a kernel takes: 0.3 to 0.7 us for each 4 KB.  So
 * the largest block that was given back is kept for the next call, up to KEPT_MOST bytes, in huge pages where the system has them.
 */
#ifndef GSCOMPILE_SCRATCH_H
#define GSCOMPILE_SCRATCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum {
    SCRATCH_ALIGNMENT = 64,
    KEPT_LEAST = 1 << 16, /* bytes: malloc keeps smaller ones itself */
    KEPT_MOST = 1 << 28,
    HUGE_PAGE = 1 << 21
};

typedef union {
    size_t bytes; /* of what follows */
    char room[SCRATCH_ALIGNMENT];
} GsScratch;

static _Atomic(GsScratch *) gs_kept; /* who takes it has it alone */

/* So many bytes, aligned to SCRATCH_ALIGNMENT; NULL if there is no room. */
static void *gs_take_scratch(size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    GsScratch *block = bytes < KEPT_LEAST ? NULL : atomic_exchange(&gs_kept, NULL);
    if (block != NULL && block->bytes >= bytes)
        return block + 1;
    free(block);
    size_t unit = bytes < 2 * HUGE_PAGE ? SCRATCH_ALIGNMENT : HUGE_PAGE, all = (bytes + sizeof *block + unit - 1) / unit * unit;
    if ((block = aligned_alloc(unit, all)) == NULL)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (unit == HUGE_PAGE)
        madvise(block, all, MADV_HUGEPAGE);
#endif
    block->bytes = all - sizeof *block;
    return block + 1;
}

/* Takes back what gs_take_scratch gave; NULL is nothing. */
static void gs_give_scratch(void *scratch) {
    GsScratch *block = scratch == NULL ? NULL : (GsScratch *)scratch - 1;
    size_t bytes = block == NULL ? 0 : block->bytes; /* once it is kept, another thread may have it */
    if (bytes >= KEPT_LEAST && bytes <= KEPT_MOST) {
        GsScratch *other = atomic_exchange(&gs_kept, block);
        block = other != NULL && other->bytes > bytes ? atomic_exchange(&gs_kept, other) : other;
    }
    free(block);
}

#endif
