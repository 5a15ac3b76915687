/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "base/siphash.h"

#include <string.h>

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = ROTL(v[1], 13) ^ v[0];
	v[0] = ROTL(v[0], 32);
	v[2] += v[3];
	v[3] = ROTL(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTL(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTL(v[1], 17) ^ v[2];
	v[2] = ROTL(v[2], 32);
}

uint64_t siphash(const uint64_t key[2], struct str s)
{
	const char *p = s.p;
	size_t n = s.n;
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
		key[1] ^ 0x7465646279746573 };
	uint64_t last = (uint64_t)n << 56, word;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		v[3] ^= word;
		sip_round(v);
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < n; i++)
		last |= (uint64_t)(unsigned char)p[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
