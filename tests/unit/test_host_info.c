// SPDX-License-Identifier: GPL-2.0-only
/* Host sections of this machine, and of machines described by a made-up /proc and /sys. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "perfdata/file_layout.h"
#include "perfdata/host_sections.h"
#include "temp_tree.h"

static int setup(void **state)
{
	char *root = strdup("/tmp/frbpf-host-XXXXXX");

	assert_non_null(mkdtemp(root));
	*state = root;
	return 0;
}

static int teardown(void **state)
{
	remove_temp_tree(*state);
	free(*state);
	return 0;
}

/* Write root/PATH, creating its directories. */
__attribute__((format(printf, 3, 4))) static void put(const char *root, const char *text,
						      const char *fmt, ...)
{
	char path[256];
	va_list ap;
	FILE *f;
	char *p;
	int n = snprintf(path, sizeof(path), "%s", root);

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	va_end(ap);
	for (p = strchr(path + n + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct host_info *collect(const char *root)
{
	struct host_info *h = NULL;
	struct err err = { "" };

	assert_int_equal(host_info__collect_from(root, &err, &h), 0);
	return h;
}

static uint32_t u32_at(const struct buf *b, size_t off)
{
	uint32_t v;

	assert_true(off + sizeof(v) <= b->len);
	memcpy(&v, b->data + off, sizeof(v));
	return v;
}

static const struct buf *section(const struct host_info *h, unsigned int bit)
{
	const struct buf *b = host_info__section(h, bit);

	assert_non_null(b);
	return b;
}

static void assert_required(const struct host_info *h)
{
	static const enum header_bit bits[] = { HEADER_HOSTNAME, HEADER_OSRELEASE, HEADER_VERSION,
						HEADER_ARCH,	 HEADER_NRCPUS,	   HEADER_CPUDESC };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		assert_non_null(host_info__section(h, bits[i]));
}

static void test_this_machine(void **state)
{
	struct host_info *h = NULL;
	struct err err;
	char name[256];

	assert_int_equal(host_info__collect(&err, &h), 0);
	assert_required(h);
	assert_int_equal(gethostname(name, sizeof(name)), 0);
	assert_string_equal(host_info__hostname(h), name);
	assert_string_equal(section(h, HEADER_HOSTNAME)->data + 4, name);
	assert_int_equal(u32_at(section(h, HEADER_NRCPUS), 4), sysconf(_SC_NPROCESSORS_ONLN));
	assert_null(host_info__section(h, 0));
	assert_null(host_info__section(h, HEADER_EVENT_DESC));
	assert_null(host_info__section(h, 1000));
	host_info__free(h);
	host_info__free(NULL);
}

static void test_nothing_known(void **state)
{
	struct host_info *h = collect("/nonexistent");

	assert_required(h);
	assert_string_equal(section(h, HEADER_CPUDESC)->data + 4, "unknown");
	assert_null(host_info__section(h, HEADER_CPU_TOPOLOGY));
	assert_null(host_info__section(h, HEADER_MEM_TOPOLOGY));
	assert_null(host_info__section(h, HEADER_PMU_CAPS));
	host_info__free(h);
}

static void test_cpuinfo(void **state)
{
	struct host_info *h;

	put(*state,
	    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
	    "model name\t:  Big   CPU  @ 3GHz \nstepping\t: 8\n",
	    "/proc/cpuinfo");
	h = collect(*state);
	assert_string_equal(section(h, HEADER_CPUDESC)->data + 4, "Big CPU @ 3GHz");
	assert_string_equal(section(h, HEADER_CPUID)->data + 4, "GenuineIntel,6,143,8");
	host_info__free(h);
}

static void test_arm64(void **state)
{
	struct host_info *h;

	put(*state, "processor\t: 0\nBogoMIPS\t: 50\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
	    "/proc/cpuinfo");
	put(*state, "0x00000000413fd0c1\n",
	    "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
	h = collect(*state);
	assert_string_equal(section(h, HEADER_CPUDESC)->data + 4, "0x41 part 0xd0c");
	assert_string_equal(section(h, HEADER_CPUID)->data + 4, "0x00000000410fd0c0");
	host_info__free(h);
}

#define BIG 512 /* CPUs in 4 packages and 8 nodes, two threads each */
#define CPU "/sys/devices/system/cpu/cpu%d"

static void put_cpu(const char *root, int cpu)
{
	char text[64];

	snprintf(text, sizeof(text), "%d-%d\n", cpu / 128 * 128, cpu / 128 * 128 + 127);
	put(root, text, CPU "/topology/package_cpus_list", cpu);
	put(root, text, CPU "/topology/die_cpus_list", cpu);
	put(root, text, CPU "/cache/index1/shared_cpu_list", cpu);
	snprintf(text, sizeof(text), "%d-%d\n", cpu / 2 * 2, cpu / 2 * 2 + 1);
	put(root, text, CPU "/topology/core_cpus_list", cpu);
	put(root, text, CPU "/cache/index0/shared_cpu_list", cpu);
	snprintf(text, sizeof(text), "%d\n", cpu / 2);
	put(root, text, CPU "/topology/core_id", cpu);
	snprintf(text, sizeof(text), "%d\n", cpu / 128);
	put(root, text, CPU "/topology/physical_package_id", cpu);
	put(root, "0\n", CPU "/topology/die_id", cpu);
	for (int index = 0; index < 2; index++) {
		put(root, index ? "3\n" : "1\n", CPU "/cache/index%d/level", cpu, index);
		put(root, "64\n", CPU "/cache/index%d/coherency_line_size", cpu, index);
		put(root, "64\n", CPU "/cache/index%d/number_of_sets", cpu, index);
		put(root, "8\n", CPU "/cache/index%d/ways_of_associativity", cpu, index);
		put(root, index ? "Unified\n" : "Data\n", CPU "/cache/index%d/type", cpu, index);
		put(root, "32K\n", CPU "/cache/index%d/size", cpu, index);
	}
}

static void put_nodes(const char *root)
{
	char text[128];
	int node;

	put(root, "0-6,40\n", "/sys/devices/system/node/online");
	put(root, "8000000\n", "/sys/devices/system/memory/block_size_bytes");
	for (node = 0; node <= 40; node = node == 6 ? 40 : node + 1) {
		snprintf(text, sizeof(text),
			 "Node %d MemTotal: 1024 kB\nNode %d MemFree:  512 kB\n", node, node);
		put(root, text, "/sys/devices/system/node/node%d/meminfo", node);
		put(root, node == 40 ? "\n" : "0-1\n", "/sys/devices/system/node/node%d/cpulist",
		    node);
		put(root, "", "/sys/devices/system/node/node%d/memory%d", node, node * 100);
		put(root, "", "/sys/devices/system/node/node%d/memory_failure", node);
	}
}

static void test_big_machine(void **state)
{
	const char *root = *state;
	struct host_info *h;
	const struct buf *b;
	int cpu;

	put(root, "0-511\n", "/sys/devices/system/cpu/present");
	for (cpu = 0; cpu < BIG; cpu++)
		if (cpu != 7) /* offline */
			put_cpu(root, cpu);
	put_nodes(root);
	h = collect(root);
	assert_int_equal(u32_at(section(h, HEADER_NRCPUS), 0), BIG);
	b = section(h, HEADER_CPU_TOPOLOGY);
	assert_int_equal(u32_at(b, 0), 4);
	assert_int_equal(u32_at(b, 4 + 4 * 68), 256);
	assert_int_equal(u32_at(b, 8 + 260 * 68 + 7 * 8), UINT32_MAX); /* core of CPU 7 */
	assert_int_equal(u32_at(b, 8 + 260 * 68 + 511 * 8), 255);
	assert_int_equal(u32_at(b, 8 + 260 * 68 + 511 * 8 + 4), 3);
	assert_int_equal(b->len, 8 + 260 * 68 + BIG * 8 + 4 + 4 * 68 + BIG * 4);
	b = section(h, HEADER_CACHE);
	assert_int_equal(u32_at(b, 4), 256 + 4);
	assert_int_equal(b->len, 8 + 260 * (16 + 3 * 68));
	assert_int_equal(u32_at(b, 8), 1); /* by level */
	assert_int_equal(u32_at(b, 8 + 256 * 220), 3);
	b = section(h, HEADER_NUMA_TOPOLOGY);
	assert_int_equal(u32_at(b, 0), 8);
	assert_int_equal(b->len, 4 + 8 * (4 + 16 + 68));
	assert_int_equal(u32_at(b, 4 + 7 * 88), 40);
	assert_int_equal(u32_at(b, 4 + 7 * 88 + 4), 1024);
	assert_int_equal(u32_at(b, 4 + 7 * 88 + 12), 512);
	b = section(h, HEADER_MEM_TOPOLOGY);
	assert_int_equal(u32_at(b, 0), 1);
	assert_int_equal(u32_at(b, 8), 0x8000000);
	assert_int_equal(u32_at(b, 16), 8);
	assert_int_equal(u32_at(b, 24 + 8), 1);	       /* node 0: block 0 */
	assert_int_equal(u32_at(b, 24 + 32 + 8), 101); /* node 1: up to block 100 */
	assert_int_equal(u32_at(b, 24 + 32 + 24 + 12), 1u << (100 - 96));
	host_info__free(h);
}

/* A source that is incomplete makes no section. */
static void test_left_out_whole(void **state)
{
	const char *root = *state;
	struct host_info *h;

	put(root, "0\n", "/sys/devices/system/cpu/present");
	put(root, "0\n", CPU "/topology/package_cpus_list", 0); /* no core list */
	put(root, "1\n", CPU "/cache/index0/level", 0);		/* and nothing else */
	put(root, "0-1\n", "/sys/devices/system/node/online");
	put(root, "Node 0 MemTotal: 10 kB\n", "/sys/devices/system/node/node0/meminfo");
	put(root, "zz\n", "/sys/devices/system/memory/block_size_bytes");
	put(root, "MemTotal: many kB\n", "/proc/meminfo");
	h = collect(root);
	assert_required(h);
	assert_null(host_info__section(h, HEADER_CPU_TOPOLOGY));
	assert_null(host_info__section(h, HEADER_CACHE));
	assert_null(host_info__section(h, HEADER_NUMA_TOPOLOGY));
	assert_null(host_info__section(h, HEADER_MEM_TOPOLOGY));
	assert_null(host_info__section(h, HEADER_TOTAL_MEM));
	assert_null(host_info__section(h, HEADER_CPUID));
	host_info__free(h);
}

#define PMUS "/sys/bus/event_source/devices"

static void test_pmus(void **state)
{
	const char *root = *state;
	struct host_info *h;
	const struct buf *b;

	put(root, "4\n", PMUS "/cpu/type");
	put(root, "32\n", PMUS "/cpu/caps/branches");
	put(root, "2\n", PMUS "/tracepoint/type");
	put(root, "x\n", PMUS "/broken/type");
	put(root, "12\n", PMUS "/arm_spe_0/type");
	put(root, "1\n", PMUS "/arm_spe_0/caps/min_interval");
	h = collect(root);
	b = section(h, HEADER_PMU_MAPPINGS);
	assert_int_equal(u32_at(b, 0), 3);
	assert_int_equal(u32_at(b, 4), 12);
	assert_string_equal(b->data + 12, "arm_spe_0");
	assert_int_equal(b->len, 4 + 3 * 72);
	b = section(h, HEADER_CPU_PMU_CAPS);
	assert_int_equal(b->len, 4 + 2 * 68);
	assert_string_equal(b->data + 8, "branches");
	assert_string_equal(b->data + 4 + 68 + 4, "32");
	b = section(h, HEADER_PMU_CAPS);
	assert_int_equal(u32_at(b, 0), 1);
	assert_int_equal(u32_at(b, 4), 1);
	assert_int_equal(b->len, 8 + 2 * 68 + 68);
	assert_string_equal(b->data + 8 + 2 * 68 + 4, "arm_spe_0");
	host_info__free(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_this_machine), TEST(test_nothing_known), TEST(test_cpuinfo),
		TEST(test_arm64),	 TEST(test_big_machine),   TEST(test_left_out_whole),
		TEST(test_pmus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
