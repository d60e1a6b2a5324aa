// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What every BPF program here needs: integers by their length, and how libbpf writes sections and maps.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
