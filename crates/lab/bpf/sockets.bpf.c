// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is cheap to tell of every TCP socket of a network namespace: who it is, and whether anything happened on it; of those on which
// nothing happened since the last pass only how many there are. A dump of sock_diag tells all of each socket, and costs several times as
// much where most of them are idle.
//
// An iterator (iter/tcp), run in the asking process when it reads. Never: a change to a socket.
//
// `cargo run -p xtask -- bpf` compiles it; the types below are the few members that are read, found by CO-RE in the
// running kernel's own BTF.

#include "bpf.h"

enum { MAP_ARRAY = 2 };
enum { IPV6 = 10 };
/* A bit for each state of include/net/tcp_states.h: all but TIME_WAIT, CLOSE, LISTEN and NEW_SYN_RECV. */
enum { CONNECTED = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11 };

/* include/uapi/linux/bpf.h: the numbers of the helpers are ABI. */
static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*socket_cookie)(void *sk) = (void *)46;
static u64 (*jiffies64)(void) = (void *)118;
static long (*seq_write)(void *seq, const void *data, u32 length) = (void *)127;
static struct tcp_sock *(*to_tcp_sock)(void *sk) = (void *)137;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
} CORE;
struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} CORE;
typedef struct {
	int counter;
} CORE atomic_t;
struct sock {
	struct sock_common __sk_common;
	struct {
		atomic_t rmem_alloc;
	} sk_backlog;
	int sk_rcvbuf;
} CORE;
struct inet_connection_sock {
	struct {
		u32 lrcvtime;
	} icsk_ack;
} CORE;
struct tcp_sock {
	u32 rcv_tstamp;
	u32 lsndtime;
	u32 packets_out;
	u32 write_seq;
	u32 snd_nxt;
	u64 bytes_acked;
	u64 bytes_received;
} CORE;
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} CORE;
struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} CORE;

/* One socket; addresses and the peer's port as they are on the wire. The last one of a pass has no cookie, and the count instead. */
struct brief {
	u64 cookie;
	u64 bytes_acked; /* of the last one: connected sockets */
	u64 bytes_received;
	u16 family;
	u16 local_port;
	u16 remote_port;
	u8 state;
	u8 is_under_way;
	u32 local[4];
	u32 remote[4];
};

/* Between passes. */
struct passes {
	u32 wants_all; /* set by user space before a pass */
	u32 is_in_one;
	u32 began; /* this pass and the one before, in jiffies */
	u32 began_before;
	u64 connected;
};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct passes);
} passes SEC(".maps");

static __attribute__((always_inline)) u32 later(u32 one, u32 other)
{
	return (s32)(one - other) > 0 ? one : other;
}

/* When it last sent data, received data, or had an ACK: tcp_event_data_sent(), tcp_event_data_recv(), tcp_ack(). */
static __attribute__((always_inline)) u32 last_active(struct tcp_sock *tp)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)tp;

	return later(later(tp->lsndtime, tp->rcv_tstamp), icsk->icsk_ack.lrcvtime);
}

/* Data waits to be acknowledged, to be sent, or, more than half a buffer of it, to be read. */
static __attribute__((always_inline)) u8 is_under_way(struct tcp_sock *tp, struct sock *sk)
{
	return tp->packets_out > 0 || (s32)(tp->write_seq - tp->snd_nxt) > 0 ||
	       (u32)sk->sk_backlog.rmem_alloc.counter > (u32)sk->sk_rcvbuf / 2;
}

SEC("iter/tcp")
int each_socket(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct brief brief = {};
	struct passes *pass;
	struct tcp_sock *tp;
	struct sock *sk;
	u32 first = 0;
	u8 under_way;

	pass = map_lookup(&passes, &first);
	if (!pass)
		return 0;
	if (!pass->is_in_one) {
		pass->is_in_one = 1;
		pass->began = (u32)jiffies64();
		pass->connected = 0;
	}
	if (!common) {
		pass->is_in_one = 0;
		pass->began_before = pass->began;
		brief.bytes_acked = pass->connected;
		seq_write(ctx->meta->seq, &brief, sizeof(brief));
		return 0;
	}
	/* None for what is no full socket: a request, or one in TIME_WAIT. */
	tp = to_tcp_sock(common);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	brief.state = sk->__sk_common.skc_state;
	if (!(1 << (brief.state & 31) & CONNECTED))
		return 0;
	pass->connected++;
	under_way = is_under_way(tp, sk);
	if (!pass->wants_all && !under_way && (s32)(last_active(tp) - pass->began_before) < 0)
		return 0;
	brief.is_under_way = under_way;
	brief.cookie = socket_cookie(tp);
	brief.bytes_acked = tp->bytes_acked;
	brief.bytes_received = tp->bytes_received;
	brief.family = sk->__sk_common.skc_family;
	brief.local_port = sk->__sk_common.skc_num;
	brief.remote_port = sk->__sk_common.skc_dport;
	if (brief.family == IPV6) {
		brief.local[0] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		brief.local[1] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		brief.local[2] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		brief.local[3] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		brief.remote[0] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0];
		brief.remote[1] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
		brief.remote[2] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2];
		brief.remote[3] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		brief.local[0] = sk->__sk_common.skc_rcv_saddr;
		brief.remote[0] = sk->__sk_common.skc_daddr;
	}
	seq_write(ctx->meta->seq, &brief, sizeof(brief));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
