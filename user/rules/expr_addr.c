// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rules/expr_tree.h"
#include "rules/text.h"
#include "rules/units.h"

/* Keep the first @bits of the two words. False: some of the other bits were set. */
static bool mask_address(__u64 *val, uint32_t bits)
{
	const __u64 mask[2] = { bits >= 64 ? ~0ULL
				: bits	   ? ~0ULL << (64 - bits)
					   : 0,
				bits > 64 ? ~0ULL << (128 - bits) : 0 };
	bool exact = !(val[0] & ~mask[0]) && !(val[1] & ~mask[1]);

	val[0] &= mask[0];
	val[1] &= mask[1];
	return exact;
}

/* Cut off a prefix length such as "/8". 0 or -EINVAL. */
static int take_prefix(char *text, uint32_t max, uint32_t *ret)
{
	char *slash = strchr(text, '/');
	const char *why;
	uint64_t bits;

	*ret = max;
	if (!slash)
		return 0;
	*slash = '\0';
	if (units__number(slash + 1, strlen(slash + 1), &bits, &why) || bits > max)
		return -EINVAL;
	*ret = bits;
	return 0;
}

static int not_an_address(const struct source_text *src, const struct expr_field_desc *field,
			  struct span span, struct diags *d)
{
	static const char *const kinds[] = {
		[EXPR_IPV4] = "an IPv4",
		[EXPR_IPV6] = "an IPv6",
		[EXPR_ADDRESS] = "an IP",
	};
	static const char *const samples[] = {
		[EXPR_IPV4] = "10.1.2.3 or 10.0.0.0/8",
		[EXPR_IPV6] = "2001:db8::1 or 2001:db8::/32",
		[EXPR_ADDRESS] = "10.1.2.3, 10.0.0.0/8 or 2001:db8::/32",
	};

	return diags__error(d, src, span, "'%s' is %s address, and " QUOTED " is not one: write %s",
			    field->name, kinds[field->type], QUOTE_SPAN(src, span),
			    samples[field->type]);
}

int leaf__parse_address(const struct source_text *src, const struct expr_field_desc *field,
			struct token value, struct diags *d, struct frbpf_node *leaf)
{
	bool v4 = field->type == EXPR_IPV4, quoted = value.type == TOKEN_STRING;
	uint32_t bits, max;
	unsigned char addr[16] = { 0 };
	char text[64] = "";
	__u64 word;

	if (quoted && value.span.len >= 2) {
		value.span.off++;
		value.span.len -= 2;
	}
	if (value.span.len < sizeof(text))
		memcpy(text, src->text + value.span.off, value.span.len);
	if (field->type == EXPR_ADDRESS)
		v4 = !strchr(text, ':');
	max = v4 ? 32 : 128;
	if (take_prefix(text, max, &bits))
		return diags__error(d, src, value.span, "the number after '/' must be 0 to %u",
				    max);
	if (inet_pton(v4 ? AF_INET : AF_INET6, text, addr) != 1)
		return not_an_address(src, field, value.span, d);
	for (int i = 0; i < 2; i++) {
		memcpy(&word, addr + 8 * i, sizeof(word));
		leaf->val[i] = be64toh(word);
	}
	if (!mask_address(leaf->val, bits))
		return diags__error(d, src, value.span,
				    "bits after the first %u are set, which /%u ignores", bits,
				    bits);
	if (v4 && field->type == EXPR_ADDRESS) {
		leaf->val[1] = 0xffffULL << 32 | leaf->val[0] >> 32;
		leaf->val[0] = 0;
		bits += 96;
		max += 96;
	}
	if (bits == max)
		return 0;
	leaf->op = leaf->op == FRBPF_OP_NE ? FRBPF_OP_NO_PREFIX : FRBPF_OP_PREFIX;
	leaf->prefix = bits;
	return 0;
}
