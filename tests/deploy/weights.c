/* A program that uses a library whose constants are in a file: each argument is a path for it, or - for where it is found. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

static void *client(void *said) {
    int64_t i[2] = {2, -1};
    float rows[2 * 1024], few[2];
    gs_error error;
    if (net(i, rows, few, 2, NULL, &error) == GS_OK)
        snprintf((char *)said, 4096, "%g %g %g %g", (double)rows[0], (double)rows[2047], (double)few[0], (double)few[1]);
    else {
        assert(error.code == GS_WEIGHTS && net(i, rows, few, 2, NULL, NULL) == GS_WEIGHTS);
        snprintf((char *)said, 4096, "%s", error.text);
    }
    return NULL;
}

int main(int count, char **paths) {
    for (int k = 1; k < count; ++k) {
        gs_error error;
        if (strcmp(paths[k], "-") != 0) {
            int code = net_use_weights(paths[k], &error);
            assert(code == net_use_weights(paths[k], NULL));
            puts(code == GS_OK ? "mapped" : error.text);
            continue;
        }
        static char said[4][4096];
        pthread_t threads[4];
        for (int t = 0; t < 4; ++t)
            assert(pthread_create(&threads[t], NULL, client, said[t]) == 0);
        for (int t = 0; t < 4; ++t) {
            pthread_join(threads[t], NULL);
            assert(strcmp(said[t], said[0]) == 0);
        }
        puts(said[0]);
    }
    return 0;
}
