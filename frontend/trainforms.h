/* trainforms.h - between train.c and optimizer.c. */
#ifndef NETC_TRAINFORMS_H
#define NETC_TRAINFORMS_H

#include "frontend/elab.h"

enum { MAX_FORM_ARGS = 6 };
typedef enum FormType { FORM_NUMBER, FORM_BOOL, FORM_COUNT, FORM_PAIR, FORM_EPS_PAIR } FormType;
typedef struct FormArg {
    const char *name;
    FormType type;
    double dflt;                                          /* NAN: required */
    double lo, hi;                                        /* both allowed, but a FORM_PAIR stays below hi */
} FormArg;
typedef struct Form { const char *name; const FormArg *args; uint32_t nargs; } Form;
typedef struct FormValues { double v[MAX_FORM_ARGS][2]; } FormValues;

bool read_optimizer(Elab *, const Expr *, Optimizer *);   /* false after a diagnostic */
bool read_schedule(Elab *, const Expr *, Schedule *);
bool read_checkpoint(Elab *, const Expr *, CheckpointKind *, uint64_t *segments);

#endif
