# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A network for one test: two network namespaces with a link between them. $net-a has 10.77.0.1 (frbpf0), $net-b has
# 10.77.0.2 (frbpf1).

# Sets $net.
make_network() {
	net=frbpf-$$
	{ ip netns add "$net-a" && ip netns add "$net-b" &&
		ip -n "$net-a" link add frbpf0 type veth peer name frbpf1 netns "$net-b"; } 2>/dev/null ||
		skip "no network namespaces or veth here"
	ip -n "$net-a" addr add 10.77.0.1/24 dev frbpf0
	ip -n "$net-b" addr add 10.77.0.2/24 dev frbpf1
	ip -n "$net-a" link set frbpf0 up
	ip -n "$net-b" link set frbpf1 up
}

remove_network() {
	[[ ! ${net-} ]] || ip netns del "$net-a" 2>/dev/null || true
	[[ ! ${net-} ]] || ip netns del "$net-b" 2>/dev/null || true
}
