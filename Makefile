# netc - a compiler for a small network language. `make demo` and `make check` do everything on a fresh Debian.
#
# B is the build folder; everything made goes there. Every source is listed here, by room.

B       ?= build
CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
STD      = -std=c11 -D_XOPEN_SOURCE=700
INCLUDE  = -I. -I$(B)
LIBS     = -lcjson -lm

BASE     = arena.c intern.c source.c diag.c diagprint.c suggest.c checked.c strbuf.c utf8.c json.c outfile.c outstream.c mapfile.c ctx.c
IR       = dtype.c ir.c datum.c plan.c print.c lex.c places.c parse.c parse_plan.c check.c
OPS      = ops.c call.c typing.c axes.c strides.c access.c window.c storage.c lead.c conv.c dense.c norm.c pool.c activation.c elementwise.c reduce.c shape.c \
           rearrange.c pattern.c join.c part.c index.c create.c resample.c attention.c recurrent.c loss.c \
           number.c product.c evaluate.c eval_conv.c eval_dense.c eval_norm.c eval_pool.c eval_attention.c eval_recurrent.c eval_loss.c \
           eval_activation.c eval_create.c eval_elementwise.c eval_index.c eval_join.c eval_move.c eval_part.c eval_reduce.c eval_resample.c eval_shape.c
FRONTEND = ast.c astprint.c parse.c tokens.c literal.c syntax.c import.c value.c number.c text.c types.c eval.c index.c signature.c call.c layer.c stored.c block.c stmt.c annot.c check.c elab.c train.c optimizer.c plan_csv.c \
           raw.c npy.c safetensors.c weights.c seeded.c ranges.c
PASSES   = passes.c steps.c pieces.c demand.c simplify.c fuse.c fuse_layout.c schedule.c leaves.c need.c order.c order_search.c alias.c liveness.c overlap.c bound.c offsets.c savings.c choose.c dsa.c dsa_order.c dsa_skyline.c dsa_improve.c dsa_greedy.c dsa_pairs.c dsa_gaps.c dsa_bound.c dsa_check.c dsa_search.c dsa_sweep.c dsa_solve.c plan_verify.c verify_decisions.c verify_steps.c bytemap.c
BACKEND  = weights_list.c report/rows.c report/words.c report/text.c report/headline.c report/table.c report/json.c report/csv.c report/why.c report/map.c report/budget.c \
           c/emit.c c/steps.c c/callbacks.c c/point.c c/value.c c/map.c c/conv.c c/dense.c c/norm.c c/reduce.c c/recurrent.c c/weights.c c/names.c c/elements.c c/pack.c
CLI      = option.c cli.c plan.c supply.c run.c run_c.c generate.c explain.c

# The kernels of generated code, which become part of the binary.
KERNELS  = base whole real vec conv matmul norm pool reduce sum attention recurrent loss interpolate
TEMPLATES = interface frame life

SOURCES  = $(BASE:%=base/%) $(IR:%=ir/%) $(OPS:%=ops/%) $(FRONTEND:%=frontend/%) $(PASSES:%=passes/%) $(BACKEND:%=backend/%) \
           $(CLI:%=cli/%) main.c
GRAMMAR  = $(B)/grammar/net.tab.o $(B)/grammar/net.lex.o
OBJECTS  = $(SOURCES:%.c=$(B)/%.o) $(GRAMMAR) $(B)/docs/errors.o $(KERNELS:%=$(B)/kernels/c/%.o) $(TEMPLATES:%=$(B)/backend/c/%.in.o)

SHARE    = $(B)/share/netc.1 $(B)/share/netc.bash $(B)/share/_netc
UNIT     = $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/*.c))

all: $(B)/netc $(SHARE)
.PHONY: all

$(B)/netc: $(OBJECTS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJECTS) $(LIBS)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(INCLUDE) -MMD -MP -c -o $@ $<

# The signatures of ir/op.def as constant tables; the program that makes them runs on the machine that builds.
HOSTCC  ?= $(CC)
$(B)/ops/gen_table: ops/gen_table.c ir/op.def ir/dtype.def
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -I. -o $@ $<
$(B)/ops/table.inc: $(B)/ops/gen_table
	$< > $@.tmp && mv $@.tmp $@
$(B)/ops/ops.o: $(B)/ops/table.inc

# Generated scanners and parsers are not held to our warnings.
$(B)/grammar/net.tab.c $(B)/grammar/net.tab.h: grammar/net.y
	@mkdir -p $(@D)
	bison -Wall -Wcounterexamples -Werror --header=$(B)/grammar/net.tab.h -o $(B)/grammar/net.tab.c $<
$(B)/grammar/net.lex.c: grammar/net.l $(B)/grammar/net.tab.h
	@mkdir -p $(@D)
	flex --header-file=$(B)/grammar/net.lex.h -o $@ $<
$(B)/grammar/%.o: $(B)/grammar/%.c
	$(CC) $(STD) $(CFLAGS) $(INCLUDE) -MMD -MP -c -o $@ $<
$(B)/frontend/parse.o $(B)/frontend/tokens.o $(B)/frontend/literal.o $(B)/frontend/syntax.o: $(B)/grammar/net.tab.h $(B)/grammar/net.lex.c

# docs/errors.md becomes part of the binary, for --explain.
$(B)/tools/embed: tools/embed.c
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -o $@ $<
$(B)/docs/errors.c: docs/errors.md $(B)/tools/embed
	@mkdir -p $(@D)
	$(B)/tools/embed errors_md $< > $@.tmp && mv $@.tmp $@
$(B)/docs/errors.o: $(B)/docs/errors.c
	$(CC) $(STD) $(WARN) $(CFLAGS) -c -o $@ $<
$(B)/kernels/c/%.c: kernels/c/%.h $(B)/tools/embed
	@mkdir -p $(@D)
	$(B)/tools/embed kernel_$* $< > $@.tmp && mv $@.tmp $@
$(B)/kernels/c/%.o: $(B)/kernels/c/%.c
	$(CC) $(STD) $(WARN) $(CFLAGS) -c -o $@ $<
$(B)/backend/c/%.in.c: backend/c/%.in $(B)/tools/embed
	@mkdir -p $(@D)
	$(B)/tools/embed template_$* $< > $@.tmp && mv $@.tmp $@
$(B)/backend/c/%.in.o: $(B)/backend/c/%.in.c
	$(CC) $(STD) $(WARN) $(CFLAGS) -c -o $@ $<
.PRECIOUS: $(B)/kernels/c/%.c $(B)/backend/c/%.in.c

# The manual page and the completions, from the table of options.
$(B)/cli/gen_docs: cli/gen_docs.c cli/option.def base/diag.def
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -I. -o $@ $<
$(B)/share/netc.1: docs/netc.1 $(B)/cli/gen_docs
	@mkdir -p $(@D)
	$(B)/cli/gen_docs man < $< > $@.tmp && mv $@.tmp $@
$(B)/share/netc.bash $(B)/share/_netc: $(B)/cli/gen_docs
	@mkdir -p $(@D)
	$< $(if $(findstring bash,$@),bash,zsh) > $@.tmp && mv $@.tmp $@

# Tests. `make check` installs what is missing, builds and runs; JOBS uses every core unless make was given -j.
JOBS     = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))
AGAIN    = $(MAKE) --no-print-directory $(JOBS) B=$(B)
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

demo:
	@sh tools/need.sh build
	@$(AGAIN) $(B)/netc
	$(B)/netc examples/resnet18.net
check:
	@sh tools/need.sh build test
	@$(AGAIN) all $(B)/units
	@sh tests/run.sh -b $(B)
check-full:
	@sh tools/need.sh build test
	@$(AGAIN) all $(B)/units
	@TEST_LIMIT=600 sh tests/run.sh -b $(B) --full
check-asan:
	@$(MAKE) --no-print-directory B=build-asan CFLAGS="$(SANITIZE)" check
$(B)/libnetc.a: $(filter-out $(B)/main.o,$(OBJECTS))
	@rm -f $@
	@$(AR) rcs $@ $^
$(B)/tests/unit/%: tests/unit/%.c tests/unit/check.h $(B)/libnetc.a
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(INCLUDE) -o $@ $< $(B)/libnetc.a $(LIBS)
# Random networks: randnet prints one, check_random checks thousands.
GEN      = $(B)/tests/gen/randnet $(B)/tests/gen/check_random $(B)/tests/gen/emit_random
GENERATOR = tests/gen/gen.c tests/gen/gen_ops.c tests/gen/gen_blocks.c
$(GEN): $(B)/tests/gen/%: tests/gen/%.c $(GENERATOR) tests/gen/gen.h $(B)/libnetc.a
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(INCLUDE) -o $@ $< $(GENERATOR) $(B)/libnetc.a $(LIBS)
$(B)/units: $(UNIT) $(GEN)
	@touch $@
# Fuzzing by clang's libFuzzer, all targets together FUZZ_SECONDS; what it finds lies in build-fuzz/.
FUZZ_SECONDS ?= 60
FUZZERS  = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
fuzz:
	@sh tools/need.sh build ci
	@$(MAKE) --no-print-directory $(JOBS) B=build-fuzz CC=clang HOSTCC=clang \
	    CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" $(FUZZERS:%=build-fuzz/fuzz/%)
	@sh tests/fuzz/run.sh build-fuzz $(FUZZ_SECONDS) $(FUZZERS)
$(B)/fuzz/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(B)/libnetc.a
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) -fsanitize=fuzzer $(INCLUDE) -o $@ $< $(B)/libnetc.a $(LIBS)
.PHONY: fuzz
# Parameters, buffers, MACs and stored tensors of the known networks against the expected ones, as one table.
exact: $(B)/netc
	@python3 tests/exact.py $(B)/netc
.PHONY: exact
# Logits of 27 torchvision networks under made-up weights, where those lie beside the project.
check-torchvision: $(B)/netc
	@python3 tests/run.py $(B)/netc --torchvision
.PHONY: check-torchvision
# The parts of the manuals that the compiler prints.
docs: $(B)/netc
	@python3 tests/docs.py $(B)/netc --bless
	@python3 tests/dumps.py $(B)/netc --bless
.PHONY: docs
layers 80:
	@python3 tests/house.py --only=$@
.PHONY: demo check check-full check-asan layers 80

# What the main line costs, against its marks.
$(B)/bench/measure: bench/measure.c
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -O2 -o $@ $<
# The offset rules of other planners (bench/peers.h), on one problem.
$(B)/bench/peer_rules: bench/peer_rules.c bench/peers.h $(B)/libnetc.a
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) $(CFLAGS) $(INCLUDE) -o $@ $< $(B)/libnetc.a $(LIBS)
$(B)/tests/unit/plan_rules: bench/peers.h
bench: $(B)/netc $(B)/bench/measure
	@sh bench/bench.sh $(B)/netc $(B)/bench/measure
# The offset planner: instances, best heights known, the rules of its peers.
# Randomly wired networks, whose order matters.
$(B)/bench/randwire: bench/randwire.c
	@mkdir -p $(@D)
	$(HOSTCC) $(STD) $(WARN) -O2 -o $@ $<
bench-plan: $(B)/netc $(B)/bench/measure $(B)/bench/peer_rules $(B)/bench/randwire
	@sh bench/plan.sh $(B)/netc $(B)/bench/measure $(B)/bench/peer_rules
# Generated C beside ONNX Runtime; BENCH_NETS=NAME... for some of the networks.
bench-c: $(B)/netc
	@sh bench/c.sh $(B)/netc $(B)/bench $(BENCH_NETS)
.PHONY: bench bench-plan bench-c

install: all
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin share/man/man1 share/bash-completion/completions share/zsh/site-functions)
	install -m 755 $(B)/netc $(DESTDIR)$(PREFIX)/bin/netc
	install -m 644 $(B)/share/netc.1 $(DESTDIR)$(PREFIX)/share/man/man1/netc.1
	install -m 644 $(B)/share/netc.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/netc
	install -m 644 $(B)/share/_netc $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_netc
clean:
	rm -rf $(B)
.PHONY: install clean

-include $(OBJECTS:.o=.d)
