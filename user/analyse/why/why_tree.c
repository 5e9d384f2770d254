// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL when memory is out */
#include <uthash.h>

#include "analyse/why/why_impl.h"

_Static_assert(sizeof(struct why_key) == 4 * sizeof(void *) + 32, "no padding: it is hashed");

struct node_entry {
	UT_hash_handle hh; /* by node.key */
	struct why_node node;
};

struct why_tree {
	struct node_entry *nodes;
};

int why_tree__new(struct why_tree **ret)
{
	struct why_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	return 0;
}

void why_tree__free(struct why_tree *t)
{
	struct node_entry *e, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->nodes, e, next) {
		HASH_DEL(t->nodes, e);
		free(e);
	}
	free(t);
}

struct why_node *why_tree__add(struct why_tree *t, const struct why_key *key, uint64_t time,
			       uint64_t ns)
{
	struct why_node *parent = (struct why_node *)key->parent;
	struct node_entry *e;

	HASH_FIND(hh, t->nodes, key, sizeof(*key), e);
	if (!e) {
		e = HASH_COUNT(t->nodes) < WHY_NODES ? calloc(1, sizeof(*e)) : NULL;
		if (!e)
			return NULL;
		e->node.key = *key;
		e->node.first = time;
		HASH_ADD(hh, t->nodes, node.key, sizeof(*key), e);
		if (!e->hh.tbl) {
			free(e);
			return NULL;
		}
		if (parent) {
			e->node.next = parent->child;
			parent->child = &e->node;
		}
	}
	e->node.ns += ns;
	e->node.times++;
	return &e->node;
}

/* Merge two sorted lists. */
static struct why_node *lists_merge(struct why_node *a, struct why_node *b)
{
	struct why_node *head = NULL, **end = &head;

	while (a && b) {
		struct why_node **from = a->ns >= b->ns ? &a : &b;

		*end = *from;
		end = &(*from)->next;
		*from = (*from)->next;
	}
	*end = a ?: b;
	return head;
}

static struct why_node *list_sort(struct why_node *list)
{
	struct why_node *slow = list, *fast = list ? list->next : NULL, *half;

	if (!fast)
		return list;
	while (fast && fast->next) {
		slow = slow->next;
		fast = fast->next->next;
	}
	half = slow->next;
	slow->next = NULL;
	return lists_merge(list_sort(list), list_sort(half));
}

static int compare_function_samples(const void *a, const void *b)
{
	const struct why_function *x = a, *y = b;

	return x->samples < y->samples ? 1 : -(x->samples > y->samples);
}

void why_tree__sort(struct why_node *n)
{
	qsort(n->functions, WHY_FUNCTIONS, sizeof(*n->functions), compare_function_samples);
	n->child = list_sort(n->child);
	for (struct why_node *c = n->child; c; c = c->next)
		why_tree__sort(c);
}
