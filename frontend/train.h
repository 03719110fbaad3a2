/* train.h - a train block after all checks: what the training step is to be built from.
 *
 * `loss_graph` computes the loss. Its inputs are the net's results, in their order, then the net's inputs, then the
 * block's parameters (targets). Defaults are PyTorch's. */
#ifndef NETC_TRAIN_H
#define NETC_TRAIN_H

#include "ir/ir.h"

typedef enum OptimizerKind {
    OPT_SGD, OPT_ADAM, OPT_ADAMW, OPT_ADAGRAD, OPT_RMSPROP, OPT_ADAFACTOR, OPT_ADAM8BIT
} OptimizerKind;
typedef struct Optimizer {
    OptimizerKind kind;
    const char *name;
    Span span;
    double lr, weight_decay, eps;
    double momentum, dampening;                           /* sgd, rmsprop (momentum) */
    double beta1, beta2;                                  /* adam, adamw, adam8bit */
    double alpha;                                         /* rmsprop */
    double lr_decay, initial_accumulator_value;           /* adagrad */
    double beta2_decay, eps2, d;                          /* adafactor; eps is its first, 0 = none: the dtype's */
    bool nesterov, amsgrad, centered;
} Optimizer;

typedef enum ScheduleKind { SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_LINEAR, SCHEDULE_STEP } ScheduleKind;
typedef struct Schedule {
    ScheduleKind kind;
    uint64_t warmup, steps;                               /* optimizer steps; steps: cosine, linear */
    double min_factor;                                    /* cosine, linear: the last rate as a part of lr */
    uint64_t every;                                       /* step: steps between two decays */
    double gamma;                                         /* step: factor of a decay */
} Schedule;

typedef enum CheckpointKind { CHECKPOINT_ANNOTATED, CHECKPOINT_NONE, CHECKPOINT_SQRT, CHECKPOINT_AUTO } CheckpointKind;

typedef struct Train {
    const char *net;
    Span span;
    Graph *loss_graph;                                    /* its one result is the loss: a scalar float */
    Optimizer optimizer;
    Schedule schedule;
    bool has_amp;
    DType amp;                                            /* bf16 or f16 */
    uint64_t accumulate;                                  /* micro-batches for each optimizer step, at least 1 */
    double clip_norm;                                     /* 0: no clipping */
    CheckpointKind checkpoint;
    uint64_t segments;                                    /* CHECKPOINT_AUTO; 0: chosen by the planner */
} Train;

#endif
