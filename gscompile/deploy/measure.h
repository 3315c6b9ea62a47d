/* What a tuner on another machine calls in a library, by TVM's RPC: functions of TVM's calling convention.  Before it stand the
 * functions of the library's graph, GS_CRASHED and GS_HUNG. */

#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char *data;
    int32_t device[2], rank;
    uint8_t dtype[4];
    int64_t *shape, *strides;
    uint64_t offset;
} GsTensor; /* DLTensor */

enum { GS_TICK_NS = 200000 };

#define GS_RPC __attribute__((visibility("default"))) int

static void *gs_data(const GsAny *a) {
    const GsTensor *t = a->is.pointer;
    return t->data + t->offset;
}

static int gs_return(GsAny *result, int64_t number) {
    *result = (GsAny){GS_INT, 0, {.number = number}};
    return 0;
}

static int64_t gs_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int gs_measured(const GsAny *arguments, gs_error *error);

/* (text, arguments...) -> 0, or a gs_code and why in the text, which has room for GS_TEXT bytes. */
GS_RPC __tvm_ffi_gs_call(void *self, GsAny *args, int32_t count, GsAny *result);
GS_RPC __tvm_ffi_gs_call(void *self, GsAny *args, int32_t count, GsAny *result) {
    gs_error error;
    int code = gs_measured(args + 1, gs_begin(&error, GS_OK));
    (void)self, (void)count;
    memcpy(gs_data(args), error.text, sizeof error.text);
    return gs_return(result, code);
}

/* (seconds, arguments...) -> 0 if a call returns within so many seconds; GS_HUNG, or GS_CRASHED and the number of the signal.
 *
 * It is made in a process of its own, as one that crashes would end the server. */
GS_RPC __tvm_ffi_gs_survives(void *self, GsAny *args, int32_t count, GsAny *result);
GS_RPC __tvm_ffi_gs_survives(void *self, GsAny *args, int32_t count, GsAny *result) {
    int64_t end = gs_now() + args[0].is.number * 1000000000;
    pid_t child = fork(), ended = 0;
    int status = 0;
    (void)self, (void)count;
    if (child == 0) {
        for (int k = 1; k < NSIG; ++k)
            signal(k, SIG_DFL); /* the server's handlers are its own */
        gs_measured(args + 1, NULL);
        _exit(0);
    }
    while (child > 0 && (ended = waitpid(child, &status, WNOHANG)) == 0 && gs_now() < end)
        nanosleep(&(struct timespec){0, GS_TICK_NS}, NULL);
    if (child > 0 && ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return gs_return(result, GS_HUNG);
    }
    return gs_return(result, ended > 0 && WIFSIGNALED(status) ? GS_CRASHED + WTERMSIG(status) : 0);
}

/* (calls, arguments...) -> nanoseconds of so many calls, after one that is not timed. */
GS_RPC __tvm_ffi_gs_time(void *self, GsAny *args, int32_t count, GsAny *result);
GS_RPC __tvm_ffi_gs_time(void *self, GsAny *args, int32_t count, GsAny *result) {
    (void)self, (void)count;
    gs_measured(args + 1, NULL);
    int64_t begin = gs_now();
    for (int64_t k = 0; k < args[0].is.number; ++k)
        gs_measured(args + 1, NULL);
    return gs_return(result, gs_now() - begin);
}

/* (a, b, bytes) -> whether they are the same. */
GS_RPC __tvm_ffi_gs_same(void *self, GsAny *args, int32_t count, GsAny *result);
GS_RPC __tvm_ffi_gs_same(void *self, GsAny *args, int32_t count, GsAny *result) {
    (void)self, (void)count;
    return gs_return(result, memcmp(gs_data(args), gs_data(args + 1), (size_t)args[2].is.number) == 0);
}

/* (text) -> how many cores this process has; the text becomes the processor's name. */
GS_RPC __tvm_ffi_gs_machine(void *self, GsAny *args, int32_t count, GsAny *result);
GS_RPC __tvm_ffi_gs_machine(void *self, GsAny *args, int32_t count, GsAny *result) {
    char *text = gs_data(args), line[GS_TEXT];
    struct utsname system;
    FILE *file = fopen("/proc/cpuinfo", "r");
    (void)self, (void)count;
    pthread_once(&gs_once, gs_set_up);
    snprintf(text, GS_TEXT, "%s", uname(&system) == 0 ? system.machine : "");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            snprintf(text, GS_TEXT, "%s", value + 1 + strspn(value + 1, " "));
            text[strcspn(text, "\n")] = 0;
            break;
        }
    }
    if (file != NULL)
        fclose(file);
    return gs_return(result, gs_cores);
}
