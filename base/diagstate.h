/* diagstate.h - what diag.c queues and diagprint.c prints: private to base/. */
#ifndef NETC_DIAGSTATE_H
#define NETC_DIAGSTATE_H

#include "base/base.h"

typedef enum DiagLevel { DIAG_OFF, DIAG_WARNING, DIAG_ERROR } DiagLevel;
typedef struct Note { Span span; const char *text; } Note;
enum { SHOWN_FRAMES = 3 };

struct Diag {
    DiagCode code;
    DiagLevel level;
    Span span;
    const char *text;
    VEC(Note) notes;
    VEC(const char *) helps;
    Note frames[SHOWN_FRAMES];                            /* the innermost ones */
    size_t nframes;                                       /* how many there were */
    size_t order;                                         /* of queueing: breaks ties in sorting */
};

/* Where elaboration is. The text's memory is used again by the next frame at this depth. */
typedef struct Frame { Span span; char *text; size_t cap; } Frame;

struct DiagState {
    VEC(Diag *) queue;                                    /* since the last flush */
    VEC(Frame) frames;                                    /* frames.n is the depth; p[n..] keep their texts */
    size_t nframes_made;
    NameMap *seen;                                        /* "code/file/beg/end/text" of everything queued so far */
    uint8_t levels[DIAG_COUNT];
    bool warnings_are_errors;
    size_t nqueued, nerrors, nwarnings;
    size_t ndropped;                                      /* errors above the limit */
};

struct DiagState *diagstate_new(Arena *);
void diag_print(Ctx *, const Diag *, StrBuf *out);        /* in the Ctx's message format */
void diag_print_summary(Ctx *, StrBuf *out);              /* "too many errors", "2 errors, 1 warning" */

#endif
