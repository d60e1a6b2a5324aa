// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What sampling can't see: how long each of our senders was in which congestion state, and every retransmission.
//
// Two tp_btf programs, for the two network namespaces of a run only. Never: a look at another program's sockets beyond
// the number of their namespace, or work for each packet.
//
// `cargo run -p xtask -- bpf` compiles it; the types below are the few members that are read, found by CO-RE in the
// running kernel's own BTF.

#include "bpf.h"

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_RINGBUF = 27 };
enum { RINGBUF_NO_WAKEUP = 1 };
/* enum tcp_ca_state */
enum { CA_OPEN = 0, CA_DISORDER = 1, CA_RECOVERY = 3, CA_LOSS = 4, CA_STATES = 5 };

/* include/uapi/linux/bpf.h: the numbers of the helpers are ABI. */
static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*now_ns)(void) = (void *)5;
static u64 (*socket_cookie)(void *sk) = (void *)46;
static long (*probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*ringbuf_submit)(void *data, u64 flags) = (void *)132;
static struct tcp_sock *(*to_tcp_sock)(void *sk) = (void *)137;

struct ns_common {
	u32 inum;
} CORE;
struct net {
	struct ns_common ns;
} CORE;
typedef struct {
	struct net *net;
} CORE possible_net_t;
struct sock_common {
	possible_net_t skc_net;
} CORE;
struct sock {
	struct sock_common __sk_common;
} CORE;
struct tcp_sock {
	u32 snd_una;
	u32 undo_marker;
	u32 total_retrans;
	u64 bytes_acked;
} CORE;
struct sk_buff {
	char cb[48];
} CORE;
struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
	u16 tcp_gso_segs;
} CORE;

/* A sender: written by user space before its first byte, so that its state is known then. */
struct sender {
	u64 from_ns; /* CLOCK_MONOTONIC: only what lies between the two counts */
	u64 until_ns;
	u64 in_state_ns[CA_STATES];
	u64 since_ns;
	u32 state;
	u32 pad;
};

enum { EVENT_RETRANSMIT = 0, EVENT_EPISODE_END = 1 };

struct event {
	u64 at_ns;
	u64 cookie;
	u64 seq_from; /* relative to the SYN's sequence number: the first byte is 1 */
	u64 seq_to;
	u32 total_retrans; /* after it */
	u8 type;
	u8 state;
	u8 undone; /* of the end of an episode */
	u8 pad;
	u32 segments; /* of this retransmission */
	u32 pad_to_8;
};

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct sender);
} senders SEC(".maps");

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost_events SEC(".maps");

/* The namespaces of the run, set by user space before the programs are loaded. */
const volatile u32 NAMESPACE_A = 0;
const volatile u32 NAMESPACE_B = 0;

static __attribute__((always_inline)) int is_ours(struct sock *sk)
{
	u32 inum = sk->__sk_common.skc_net.net->ns.inum;

	return inum == NAMESPACE_A || inum == NAMESPACE_B;
}

static __attribute__((always_inline)) struct event *reserve(void)
{
	u32 first = 0;
	struct event *event = ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		u64 *lost = map_lookup(&lost_events, &first);

		if (lost)
			__sync_fetch_and_add(lost, 1);
	}
	return event;
}

/*
 * tcp_set_ca_state() traces before it changes anything, with the socket locked. Recovery and Loss that end with
 * undo_marker cleared were undone: tcp_undo_cwnd_reduction() clears it, tcp_try_undo_recovery() without an undo does not.
 */
SEC("tp_btf/tcp_cong_state_set")
int on_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	u32 next = (u8)ctx[1];
	struct tcp_sock *tp;
	struct sender *sender;
	struct event *event;
	u64 cookie, now, from, to;
	u32 before;

	if (!is_ours(sk))
		return 0;
	cookie = socket_cookie(sk);
	sender = map_lookup(&senders, &cookie);
	if (!sender)
		return 0;
	now = now_ns();
	before = sender->state;
	from = sender->since_ns > sender->from_ns ? sender->since_ns : sender->from_ns;
	to = now < sender->until_ns ? now : sender->until_ns;
	if (to > from && before < CA_STATES)
		sender->in_state_ns[before] += to - from;
	sender->since_ns = now;
	sender->state = next;
	if (before < CA_RECOVERY || next >= CA_RECOVERY)
		return 0;
	tp = to_tcp_sock(sk);
	if (!tp)
		return 0;
	event = reserve();
	if (!event)
		return 0;
	event->at_ns = now;
	event->cookie = cookie;
	event->seq_from = 0;
	event->seq_to = 0;
	event->total_retrans = tp->total_retrans;
	event->type = EVENT_EPISODE_END;
	event->state = before;
	event->undone = tp->undo_marker == 0;
	event->pad = 0;
	event->segments = 0;
	event->pad_to_8 = 0;
	ringbuf_submit(event, RINGBUF_NO_WAKEUP);
	return 0;
}

/*
 * __tcp_retransmit_skb() has counted the segments already, and comes here only where the host took the packet: a refused
 * attempt (a full device) is in total_retrans, and in no event of its own. Its SYNs come before user space knows the connection: they are
 * always the timer's.
 */
SEC("tp_btf/tcp_retransmit_skb")
int on_retransmit(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct sk_buff *skb = (struct sk_buff *)ctx[1];
	struct tcp_skb_cb *cb = (struct tcp_skb_cb *)skb->cb;
	struct tcp_sock *tp;
	struct sender *sender;
	struct event *event;
	u64 cookie;
	u32 seq = 0, end_seq = 0;
	u16 segments = 0;

	if (!is_ours(sk))
		return 0;
	tp = to_tcp_sock(sk);
	if (!tp)
		return 0;
	cookie = socket_cookie(sk);
	sender = map_lookup(&senders, &cookie);
	probe_read_kernel(&seq, sizeof(seq), &cb->seq);
	probe_read_kernel(&end_seq, sizeof(end_seq), &cb->end_seq);
	probe_read_kernel(&segments, sizeof(segments), &cb->tcp_gso_segs);
	event = reserve();
	if (!event)
		return 0;
	event->at_ns = now_ns();
	event->cookie = cookie;
	event->seq_from = tp->bytes_acked + (s32)(seq - tp->snd_una);
	event->seq_to = event->seq_from + (end_seq - seq);
	event->total_retrans = tp->total_retrans;
	event->type = EVENT_RETRANSMIT;
	event->state = sender ? sender->state : CA_LOSS;
	event->undone = 0;
	event->pad = 0;
	event->segments = segments;
	event->pad_to_8 = 0;
	ringbuf_submit(event, RINGBUF_NO_WAKEUP);
	return 0;
}

/* probe_read_kernel() is for GPL-compatible programs; this file may be had under MIT too. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";
