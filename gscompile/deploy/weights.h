/* Constants that are in a file, which is mapped when it is first used.  See gscompile/runtime/weights.py for what is in it. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    const char *library, *name; /* the file's, without a folder */
    uint64_t bytes, count;      /* of the file; of the constants in it */
    unsigned char hash[32];
} GsWeights;

typedef struct {
    char magic[20];
    uint32_t format;
    uint64_t count, bytes;
    unsigned char hash[32];
} GsWeightsHead;

static _Atomic(const char *) gs_mapped; /* the file; it stays mapped */

/* The file that this code is in: the library, or the program that it was linked into. */
static int gs_own_file(char *path) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    int found = 0;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long low, high, here = (unsigned long long)(uintptr_t)&gs_own_file;
        int at = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &low, &high, &at) == 2 && low <= here && here < high && line[at] == '/') {
            snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, line + at);
            found = 1;
        }
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* What is wrong with an open file; NULL with where it is mapped. */
static const char *gs_map(const GsWeights *w, int file, const char **mapped) {
    struct stat is;
    GsWeightsHead head;
    if (fstat(file, &is) != 0)
        return strerror(errno);
    if (!S_ISREG(is.st_mode) || pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.magic, "\x89gscompile-weight\r\n", sizeof head.magic) != 0)
        return "this is no file of constants that gscompile wrote";
    if (head.format != 1)
        return "it is of another format than this library reads";
    if (memcmp(head.hash, w->hash, sizeof head.hash) != 0 || head.bytes != w->bytes || head.count != w->count)
        return "these are not the constants that this library was exported with";
    if ((uint64_t)is.st_size != w->bytes)
        return "it was cut off, or something was added to it";
    void *at = mmap(NULL, (size_t)w->bytes, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        return strerror(errno);
    *mapped = (const char *)at;
    return NULL;
}

/* Maps the constants from a file; where they are mapped already, only looks whether that is it. */
static int gs_use_weights(const GsWeights *w, const char *path, gs_error *error) {
    const char *mapped = NULL, *none = NULL, *wrong;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    wrong = file < 0 ? strerror(errno) : gs_map(w, file, &mapped);
    if (file >= 0)
        close(file);
    if (wrong != NULL)
        GS_FAIL(error, GS_WEIGHTS, "%s: its constants cannot be mapped from %s: %s", w->library, path, wrong);
    if (!atomic_compare_exchange_strong(&gs_mapped, &none, mapped))
        munmap((void *)(uintptr_t)mapped, (size_t)w->bytes);
    return GS_OK;
}

/* Maps the constants, unless they are, from the file beside this code's own. */
static int gs_find_weights(const GsWeights *w, gs_error *error) {
    char path[PATH_MAX], *slash;
    if (atomic_load(&gs_mapped) != NULL)
        return GS_OK;
    if (!gs_own_file(path) || (slash = strrchr(path, '/')) == NULL ||
        (size_t)(slash + 1 - path) + strlen(w->name) >= sizeof path)
        GS_FAIL(error, GS_WEIGHTS, "%s: where %s is must be said: this system does not say where the library is", w->library, w->name);
    strcpy(slash + 1, w->name);
    return gs_use_weights(w, path, error);
}

/* Where a graph's constants are; -1 where they are not mapped. */
static int gs_find_constants(const uint64_t *places, int count, const void **constants) {
    const char *mapped = atomic_load(&gs_mapped);
    for (int k = 0; k < count && mapped != NULL; ++k)
        constants[k] = mapped + places[k];
    return mapped != NULL ? 0 : -1;
}
