// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "abi.h"
#include "rules/diag.h"
#include "rules/constants.h"

#define ERRNO(name)                                                                                \
	{                                                                                          \
#name, name                                                                        \
	}

/* If a value has several names, the first is its usual one. */
// clang-format off
const struct constant symbols_errno[] = {
	ERRNO(EPERM),
	ERRNO(ENOENT),
	ERRNO(ESRCH),
	ERRNO(EINTR),
	ERRNO(EIO),
	ERRNO(ENXIO),
	ERRNO(E2BIG),
	ERRNO(ENOEXEC),
	ERRNO(EBADF),
	ERRNO(ECHILD),
	ERRNO(EAGAIN),
	ERRNO(EWOULDBLOCK),
	ERRNO(ENOMEM),
	ERRNO(EACCES),
	ERRNO(EFAULT),
	ERRNO(ENOTBLK),
	ERRNO(EBUSY),
	ERRNO(EEXIST),
	ERRNO(EXDEV),
	ERRNO(ENODEV),
	ERRNO(ENOTDIR),
	ERRNO(EISDIR),
	ERRNO(EINVAL),
	ERRNO(ENFILE),
	ERRNO(EMFILE),
	ERRNO(ENOTTY),
	ERRNO(ETXTBSY),
	ERRNO(EFBIG),
	ERRNO(ENOSPC),
	ERRNO(ESPIPE),
	ERRNO(EROFS),
	ERRNO(EMLINK),
	ERRNO(EPIPE),
	ERRNO(EDOM),
	ERRNO(ERANGE),
	ERRNO(EDEADLK),
	ERRNO(EDEADLOCK),
	ERRNO(ENAMETOOLONG),
	ERRNO(ENOLCK),
	ERRNO(ENOSYS),
	ERRNO(ENOTEMPTY),
	ERRNO(ELOOP),
	ERRNO(ENOMSG),
	ERRNO(EIDRM),
	ERRNO(ECHRNG),
	ERRNO(EL2NSYNC),
	ERRNO(EL3HLT),
	ERRNO(EL3RST),
	ERRNO(ELNRNG),
	ERRNO(EUNATCH),
	ERRNO(ENOCSI),
	ERRNO(EL2HLT),
	ERRNO(EBADE),
	ERRNO(EBADR),
	ERRNO(EXFULL),
	ERRNO(ENOANO),
	ERRNO(EBADRQC),
	ERRNO(EBADSLT),
	ERRNO(EBFONT),
	ERRNO(ENOSTR),
	ERRNO(ENODATA),
	ERRNO(ETIME),
	ERRNO(ENOSR),
	ERRNO(ENONET),
	ERRNO(ENOPKG),
	ERRNO(EREMOTE),
	ERRNO(ENOLINK),
	ERRNO(EADV),
	ERRNO(ESRMNT),
	ERRNO(ECOMM),
	ERRNO(EPROTO),
	ERRNO(EMULTIHOP),
	ERRNO(EDOTDOT),
	ERRNO(EBADMSG),
	ERRNO(EOVERFLOW),
	ERRNO(ENOTUNIQ),
	ERRNO(EBADFD),
	ERRNO(EREMCHG),
	ERRNO(ELIBACC),
	ERRNO(ELIBBAD),
	ERRNO(ELIBSCN),
	ERRNO(ELIBMAX),
	ERRNO(ELIBEXEC),
	ERRNO(EILSEQ),
	ERRNO(ERESTART),
	ERRNO(ESTRPIPE),
	ERRNO(EUSERS),
	ERRNO(ENOTSOCK),
	ERRNO(EDESTADDRREQ),
	ERRNO(EMSGSIZE),
	ERRNO(EPROTOTYPE),
	ERRNO(ENOPROTOOPT),
	ERRNO(EPROTONOSUPPORT),
	ERRNO(ESOCKTNOSUPPORT),
	ERRNO(EOPNOTSUPP),
	ERRNO(ENOTSUP),
	ERRNO(EPFNOSUPPORT),
	ERRNO(EAFNOSUPPORT),
	ERRNO(EADDRINUSE),
	ERRNO(EADDRNOTAVAIL),
	ERRNO(ENETDOWN),
	ERRNO(ENETUNREACH),
	ERRNO(ENETRESET),
	ERRNO(ECONNABORTED),
	ERRNO(ECONNRESET),
	ERRNO(ENOBUFS),
	ERRNO(EISCONN),
	ERRNO(ENOTCONN),
	ERRNO(ESHUTDOWN),
	ERRNO(ETOOMANYREFS),
	ERRNO(ETIMEDOUT),
	ERRNO(ECONNREFUSED),
	ERRNO(EHOSTDOWN),
	ERRNO(EHOSTUNREACH),
	ERRNO(EALREADY),
	ERRNO(EINPROGRESS),
	ERRNO(ESTALE),
	ERRNO(EUCLEAN),
	ERRNO(ENOTNAM),
	ERRNO(ENAVAIL),
	ERRNO(EISNAM),
	ERRNO(EREMOTEIO),
	ERRNO(EDQUOT),
	ERRNO(ENOMEDIUM),
	ERRNO(EMEDIUMTYPE),
	ERRNO(ECANCELED),
	ERRNO(ENOKEY),
	ERRNO(EKEYEXPIRED),
	ERRNO(EKEYREVOKED),
	ERRNO(EKEYREJECTED),
	ERRNO(EOWNERDEAD),
	ERRNO(ENOTRECOVERABLE),
	ERRNO(ERFKILL),
	ERRNO(EHWPOISON),
	{ NULL },
};
// clang-format on

const struct constant symbols_state[] = {
	{ "R", FRBPF_STATE_RUNNABLE },
	{ "S", FRBPF_STATE_INTERRUPTIBLE },
	{ "D", FRBPF_STATE_UNINTERRUPTIBLE },
	{ "T", FRBPF_STATE_STOPPED },
	{ "t", FRBPF_STATE_TRACED },
	{ "P", FRBPF_STATE_PARKED },
	{ "I", FRBPF_STATE_IDLE },
	{ NULL },
};

const struct constant symbols_blkio_op[] = {
	{ "read", FRBPF_BLKIO_READ },
	{ "write", FRBPF_BLKIO_WRITE },
	{ "flush", FRBPF_BLKIO_FLUSH },
	{ "discard", FRBPF_BLKIO_DISCARD },
	{ "secure_erase", FRBPF_BLKIO_SECURE_ERASE },
	{ "write_zeroes", FRBPF_BLKIO_WRITE_ZEROES },
	{ "zone_append", FRBPF_BLKIO_ZONE_APPEND },
	{ "driver", FRBPF_BLKIO_DRIVER },
	{ "other", FRBPF_BLKIO_OTHER },
	{ NULL },
};

const struct constant symbols_blkio_flags[] = {
	{ "sync", FRBPF_BLKIO_SYNC },
	{ "meta", FRBPF_BLKIO_META },
	{ "prio", FRBPF_BLKIO_PRIO },
	{ "fua", FRBPF_BLKIO_FUA },
	{ "preflush", FRBPF_BLKIO_PREFLUSH },
	{ "ahead", FRBPF_BLKIO_AHEAD },
	{ "background", FRBPF_BLKIO_BACKGROUND },
	{ "nowait", FRBPF_BLKIO_NOWAIT },
	{ "swap", FRBPF_BLKIO_SWAP },
	{ NULL },
};

/* include/linux/interrupt.h; unchanged since 2.6.37 */
const struct constant symbols_softirq[] = {
	{ "hi", 0 },	  { "timer", 1 },    { "net_tx", 2 },  { "net_rx", 3 },
	{ "block", 4 },	  { "irq_poll", 5 }, { "tasklet", 6 }, { "sched", 7 },
	{ "hrtimer", 8 }, { "rcu", 9 },	     { NULL },
};

const struct constant symbols_reclaim_scope[] = {
	{ "machine", FRBPF_RECLAIM_MACHINE },
	{ "cgroup", FRBPF_RECLAIM_CGROUP },
	{ NULL },
};

const struct constant symbols_connect_result[] = {
	{ "established", FRBPF_CONNECT_ESTABLISHED },
	{ "failed", FRBPF_CONNECT_FAILED },
	{ "closed", FRBPF_CONNECT_CLOSED },
	{ NULL },
};

const struct constant symbols_family[] = { { "inet", AF_INET }, { "inet6", AF_INET6 }, { NULL } };

const struct constant symbols_sa_handler[] = { { "SIG_DFL", 0 }, { "SIG_IGN", 1 }, { NULL } };

const struct constant symbols_signal[] = {
	{ "SIGHUP", SIGHUP },	{ "SIGINT", SIGINT },
	{ "SIGQUIT", SIGQUIT }, { "SIGILL", SIGILL },
	{ "SIGTRAP", SIGTRAP }, { "SIGABRT", SIGABRT },
	{ "SIGBUS", SIGBUS },	{ "SIGFPE", SIGFPE },
	{ "SIGKILL", SIGKILL }, { "SIGUSR1", SIGUSR1 },
	{ "SIGSEGV", SIGSEGV }, { "SIGUSR2", SIGUSR2 },
	{ "SIGPIPE", SIGPIPE }, { "SIGALRM", SIGALRM },
	{ "SIGTERM", SIGTERM }, { "SIGSTKFLT", SIGSTKFLT },
	{ "SIGCHLD", SIGCHLD }, { "SIGCONT", SIGCONT },
	{ "SIGSTOP", SIGSTOP }, { "SIGTSTP", SIGTSTP },
	{ "SIGTTIN", SIGTTIN }, { "SIGTTOU", SIGTTOU },
	{ "SIGURG", SIGURG },	{ "SIGXCPU", SIGXCPU },
	{ "SIGXFSZ", SIGXFSZ }, { "SIGVTALRM", SIGVTALRM },
	{ "SIGPROF", SIGPROF }, { "SIGWINCH", SIGWINCH },
	{ "SIGIO", SIGIO },	{ "SIGPWR", SIGPWR },
	{ "SIGSYS", SIGSYS },	{ NULL },
};

#define NAMES_MAX  160
#define SUFFIX_MIN 3 /* a shorter suffix is ambiguous */

int constant__find(const struct constant *symbols, const char *s, size_t len, long *ret)
{
	for (; symbols->name; symbols++) {
		if (strlen(symbols->name) == len && !memcmp(symbols->name, s, len)) {
			*ret = symbols->value;
			return 0;
		}
	}
	return -ENOENT;
}

const char *constant__nearest(const struct constant *symbols, const char *s, size_t len)
{
	const char *names[NAMES_MAX + 1] = { NULL }, *nearest;

	for (size_t i = 0; i < NAMES_MAX && symbols[i].name; i++)
		names[i] = symbols[i].name;
	nearest = nearest_word(s, len, names);
	/* "SEGV" for SIGSEGV, "established" for TCP_ESTABLISHED */
	for (size_t i = 0; !nearest && len >= SUFFIX_MIN && names[i]; i++) {
		size_t all = strlen(names[i]);

		if (all > len && !strncasecmp(names[i] + all - len, s, len))
			nearest = names[i];
	}
	return nearest;
}

bool constant__list(const struct constant *symbols, char *buf, size_t size)
{
	size_t len = 0;

	for (; symbols->name; symbols++) {
		len += snprintf(buf + len, size - len, " %s", symbols->name);
		if (len >= size)
			return false;
	}
	return true;
}

const char *constant__name(const struct constant *symbols, long value)
{
	for (; symbols->name; symbols++) {
		if (symbols->value == value)
			return symbols->name;
	}
	return NULL;
}

char *constant__format_bits(const struct constant *symbols, unsigned long value, char *buf,
			    size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (; symbols->name && len < size; symbols++) {
		if (!(value & symbols->value))
			continue;
		value &= ~symbols->value;
		len += snprintf(buf + len, size - len, "%s%s", len ? "|" : "", symbols->name);
	}
	if (value && len < size)
		snprintf(buf + len, size - len, "%s0x%lx", len ? "|" : "", value);
	return buf;
}

/* ---- values of tracepoints ---- */

static const struct {
	const char *target;
	const char *name;
	const struct constant *symbols;
} tracepoint_symbols[] = {
	{ "signal:*", "sig", symbols_signal }, { "signal:*", "sa_handler", symbols_sa_handler },
	{ "*", "ret", symbols_errno },	       { "*", "err", symbols_errno },
	{ "*", "error", symbols_errno },
};

const struct constant *constant__of_tracepoint(const char *target, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracepoint_symbols); i++) {
		if (!strcmp(tracepoint_symbols[i].name, name) &&
		    !fnmatch(tracepoint_symbols[i].target, target, 0))
			return tracepoint_symbols[i].symbols;
	}
	return NULL;
}
