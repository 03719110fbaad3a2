/* main.c - a program around generated code: classifies one image with ResNet-18. `make` generates, compiles and runs it. */
#include <stdio.h>
#include <stdlib.h>

#include "resnet18.h"

static float image[3 * 224 * 224], logits[1000];

int main(void) {
    static resnet18 net;
    void *weights = aligned_alloc(64, RESNET18_WEIGHTS_BYTES);
    int code = weights ? resnet18_read_weights("resnet18.weights", weights) : RESNET18_E_MEMORY;
    if (!code) code = resnet18_init(&net, NULL, weights);     /* NULL: the arena is the one allocation */
    for (size_t i = 0; i < sizeof image / sizeof *image; i++) image[i] = (float)(i % 255) / 127.5f - 1;
    if (!code) code = resnet18_run(&net, image, logits);
    if (code) {
        fprintf(stderr, "%s\n", resnet18_error(code));
        return 1;
    }
    int best = 0;
    for (int i = 1; i < 1000; i++)
        if (logits[i] > logits[best]) best = i;
    printf("class %d, logit %g; arena %llu bytes\n", best, logits[best], (unsigned long long)RESNET18_ARENA_BYTES);
    resnet18_free(&net);
    free(weights);
    return 0;
}
