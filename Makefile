# SPDX-License-Identifier: GPL-2.0-only
#
#   make              build ./frbpf (no root needed); everything else goes to .output/
#   make V=1          show the commands
#   make SAN=1        build with AddressSanitizer and UBSan, into .output-san/
#   make CROSS_COMPILE=aarch64-linux-gnu- SYSROOT=DIR   build for arm64, into .output-aarch64/; DIR: a root with its libraries
#   make check        install what is missing, build, run all tests (root for the end-to-end part)
#   make quickstart   install, build, and see a real latency spike being caught (root)
#   make help         the rest

ifneq ($(CROSS_COMPILE),)
CC       := $(CROSS_COMPILE)gcc $(SYSROOT:%=--sysroot=%)
CXX      := $(CROSS_COMPILE)g++ $(SYSROOT:%=--sysroot=%)
AR       := $(CROSS_COMPILE)ar
MACHINE  := $(firstword $(subst -, ,$(notdir $(CROSS_COMPILE))))
else
MACHINE  := $(shell uname -m)
ifneq ($(SAN),)
CC       := clang
endif
endif

O        ?= .output$(if $(SAN),-san)$(if $(CROSS_COMPILE),-$(MACHINE))
# BPF objects and their skeletons are the same with and without sanitizers.
BPF_O    := $(patsubst .output-san%,.output%,$(O:.output-fuzz=.output))/bpf
CLANG    ?= clang
BPFTOOL  ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
ARCH     := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(MACHINE)))
# The version begins with numbers: readers of perf.data parse the version of the program that recorded a file.
VERSION  := 0.9.0$(shell git describe --always --dirty --abbrev=7 --exclude '*' 2>/dev/null | sed 's/^/-g/')

ifeq ($(V),1)
Q =
msg =
else
Q = @
msg = @printf '  %-8s %s\n' "$(1)" "$(patsubst $(abspath .)/%,%,$(2))";
MAKEFLAGS += --no-print-directory
endif

, := ,
# This compiles in half of the time of -O1 -g. The debugger has names and lines, but no variables. -Og gives the false
# warnings that are disabled here.
FAST_FLAGS := -Og -g1 -Wno-maybe-uninitialized -Wno-format-truncation -Wno-clobbered
# Sanitizer builds use clang: fuzz targets are linked to the same objects, which also count coverage. -O0 compiles in
# two thirds of the time of gcc's -Og. `make fuzz` has its own build with -O1.
SAN_OPT   ?= -O0
SAN_FLAGS := $(if $(SAN),$(SAN_OPT) -g1 -fsanitize=fuzzer-no-link$(,)address$(,)undefined -fno-sanitize-recover=all \
	     -fno-omit-frame-pointer -Wno-unknown-attributes -Wno-gnu-variable-sized-type-not-at-end)

# lld links the tests and fuzz targets, some 300 programs. With sanitizers, it takes about half of the time of GNU ld.
# Build ids are SHA-1, as from GNU ld: tests read their own id.
FAST_LINK := $(if $(shell command -v ld.lld),-fuse-ld=lld -Wl$(,)--build-id=sha1)

# Programs have a fixed address: relocating the tables of the sanitizers (400,000 entries) took half of the start time.
SAN_LINK := $(if $(SAN),-no-pie)

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Werror=implicit \
	    -Wno-unused-parameter -Wno-missing-field-initializers
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) \
	      -Iuser -Ibpf -I$(BPF_O) -I$(O)/gen $(CFLAGS) $(SAN_FLAGS)
LIBS     := -lbpf -ldw -lelf -llzma -lcap -ljansson -lz -lzstd -lm -lpthread -ldl $(if $(filter x86,$(ARCH)),-lZydis)

# frbpf itself
SRCS     := $(wildcard user/*/*.c user/*/*/*.c)
OBJS     := $(SRCS:%.c=$(O)/%.o)
MAIN_OBJ := $(O)/user/main.o
LIB      := $(O)/libfrbpf.a
SYSCALLS := $(O)/gen/syscall_table.h
BIN      := $(if $(SAN)$(CROSS_COMPILE),$(O)/frbpf,frbpf)

# BPF objects and their skeletons
BPF_SRCS := $(wildcard bpf/*.bpf.c)
SKELS    := $(BPF_SRCS:bpf/%.bpf.c=$(BPF_O)/%.skel.h)
ifeq ($(GEN_VMLINUX_H),1)
VMLINUX_DIR := $(O)/vmlinux
$(BPF_SRCS:bpf/%.c=$(BPF_O)/%.o): $(O)/vmlinux/vmlinux.h
else
VMLINUX_DIR := vmlinux
endif
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -I$(VMLINUX_DIR) -Ibpf \
	      $(addprefix -idirafter $(SYSROOT)/usr/include/,$(shell $(CC) -print-multiarch)) \
	      -Wall -Wextra -Wno-unused-parameter -Wno-missing-declarations

# tests
UNIT_BINS := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))
WORKLOADS := $(patsubst tests/workloads/%.c,$(O)/tests/workloads/%,$(wildcard tests/workloads/*.c))
WORKLOADS += $(O)/tests/workloads/cause
# These workloads need a C++ compiler. Without one, the tests that use them are skipped.
ifneq ($(shell command -v $(firstword $(CXX))),)
WORKLOADS += $(patsubst tests/workloads/%.cc,$(O)/tests/workloads/%,$(wildcard tests/workloads/*.cc))
endif
FUZZ_BINS := $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: all FORCE help check soak quickstart deps unit workloads fuzz fuzz-targets bench install uninstall clean format tools-check
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BIN)

$(BIN): $(MAIN_OBJ) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(SAN_LINK) $(LDFLAGS) $^ $(LIBS) -o $@

$(LIB): $(OBJS)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/%.o: %.c | $(SKELS) $(SYSCALLS)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# This file is compiled again whenever the version has changed.
$(O)/user/common/version.o: ALL_CFLAGS += -DFRBPF_VERSION='"$(VERSION)"'
$(O)/user/common/version.o: $(O)/version
$(O)/version: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@
FORCE:

$(BPF_O)/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $(@:.o=.tmp.o)
	$(Q)$(BPFTOOL) gen object $@ $(@:.o=.tmp.o)

$(BPF_O)/%.skel.h: $(BPF_O)/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

# A line SYSCALL(name) for each system call in the compiler's headers, sorted for a binary search.
$(SYSCALLS): user/rules/syscall_newer.h Makefile
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -E -dM $< >$@.macros
	$(Q)sed -n 's/^#define __NR_\([a-z_0-9]*\) .*/SYSCALL(\1)/p' $@.macros | \
		grep -vE '\((syscalls|arch_specific_syscall)\)' | LC_ALL=C sort >$@

$(O)/vmlinux/vmlinux.h:
	$(call msg,BTF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) btf dump file /sys/kernel/btf/vmlinux format c > $@

# These flags are for the test's own file; the library is built as usual.
$(O)/tests/unit/%: tests/unit/%.c $(LIB)
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(SAN),,$(FAST_FLAGS)) $(SAN_LINK) $(FAST_LINK) -MMD -MP -MF $@.d $< $(LIB) $(LIBS) -lcmocka -o $@

$(O)/tests/workloads/%: tests/workloads/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -Wall -Wextra -MMD -MP -MF $@.d $< -lpthread -o $@

$(O)/tests/workloads/cause: $(wildcard tests/causes/*.c tests/causes/*.h)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -Wall -Wextra $(filter %.c,$^) -lpthread -o $@

$(O)/tests/workloads/%: tests/workloads/%.cc
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -Wall -Wextra $< -o $@

# Programs with which tests read files. Each has one source file, and is linked only to the library of frbpf.
HELPERS := $(patsubst tests/helpers/%.c,$(O)/tests/helpers/%,$(wildcard tests/helpers/*.c))

$(O)/tests/helpers/%: tests/helpers/%.c $(LIB)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(SAN_LINK) $< $(LIB) -o $@

# Fuzz targets need SAN=1, so that the objects that they are linked to count coverage.
$(O)/tests/fuzz/%: tests/fuzz/%.c $(LIB)
	$(call msg,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(SAN_LINK) $(FAST_LINK) -Wno-missing-prototypes -Itests/fuzz -MMD -MP -MF $@.d $< $(LIB) $(LIBS) -o $@

unit: $(UNIT_BINS)
workloads: $(WORKLOADS) $(HELPERS)

fuzz-targets: $(FUZZ_BINS)

fuzz:
	$(MAKE) SAN=1 SAN_OPT=-O1 O=.output-fuzz fuzz-targets
	scripts/fuzz.sh $(FUZZ_TIME) $(FUZZ_BINS:.output/%=.output-fuzz/%)

# Measures side by side with perf, bcc and bpftrace. Needs root; takes some 10 minutes.
bench: all workloads
	scripts/bench/all

deps:
	scripts/deps.sh

check: deps
	scripts/check.sh

# Records under load for half an hour, or SOAK_TIME=seconds. Needs root.
soak: deps
	-scripts/deps.sh --soak
	$(MAKE) all workloads
	scripts/soak.sh --seconds $(SOAK_TIME)

SOAK_TIME ?= 1800

quickstart: deps
	$(MAKE) $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc)) all workloads
	scripts/quickstart.sh

PREFIX ?= /usr/local

install: all
	install -D -m 0755 frbpf $(DESTDIR)$(PREFIX)/bin/frbpf
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/frbpf configs/*.conf
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/frbpf/ci configs/ci/*
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/frbpf/examples configs/examples/*
	install -D -m 0644 configs/include/frbpf.h $(DESTDIR)$(PREFIX)/include/frbpf.h
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/frbpf README.md CONTRIBUTING.md
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/frbpf/docs docs/*.md
	for p in docs/*.[1-8]; do install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man$${p##*.} $$p; done
	install -D -m 0644 configs/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/frbpf
	install -d $(DESTDIR)/etc/systemd/system
	sed 's|/usr/local|$(PREFIX)|' configs/frbpf.service > $(DESTDIR)/etc/systemd/system/frbpf.service

# Removes what install has put there, and no other file.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/frbpf $(DESTDIR)$(PREFIX)/include/frbpf.h
	rm -f $(patsubst configs/%,$(DESTDIR)$(PREFIX)/share/frbpf/%,$(wildcard configs/*.conf configs/ci/* configs/examples/*))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/doc/frbpf/,README.md CONTRIBUTING.md $(wildcard docs/*.md))
	for p in docs/*.[1-8]; do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${p##*.}/$${p##*/}; done
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/frbpf $(DESTDIR)/etc/systemd/system/frbpf.service
	for d in share/frbpf/ci share/frbpf/examples share/frbpf share/doc/frbpf/docs share/doc/frbpf; do \
		if [ -d $(DESTDIR)$(PREFIX)/$$d ]; then rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/$$d; fi; done

format:
	clang-format -i $$(git ls-files '*.[ch]')

clean:
	$(Q)rm -rf .output .output-san .output-fuzz .output-aarch64 .output-san-aarch64 frbpf

help:
	@sed -n 's/^#   //p' Makefile
	@echo 'make unit workloads   build the unit tests, the test workloads'
	@echo 'make fuzz             fuzz every parser, 5 minutes each (FUZZ_TIME=seconds)'
	@echo 'make soak             record under load: what fires is true, nothing is missed, nothing grows (root; SOAK_TIME=seconds)'
	@echo 'make bench            measure beside perf, bcc and bpftrace: ratios, and all values as JSON (root)'
	@echo 'make install          program, pages, completion, rules files, frbpf.h and systemd unit (PREFIX, DESTDIR)'
	@echo 'make uninstall        remove what make install has put there'
	@echo 'make GEN_VMLINUX_H=1  take kernel types from the running kernel'

-include $(OBJS:.o=.d) $(MAIN_OBJ:.o=.d) $(BPF_SRCS:bpf/%.bpf.c=$(BPF_O)/%.bpf.d) $(UNIT_BINS:=.d) $(WORKLOADS:=.d) $(FUZZ_BINS:=.d)
