/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* The monitor as if it were a network server: any messages from any of its peers, in any order. */
#include "role/monitor.h"
#include "sys/chan.h"

#include <string.h>
#include <sys/socket.h>

#define PEERS        10
#define MESSAGES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Types the monitor knows of, so that the fuzzer need not guess sixteen bits; every 16th is any number. */
static const uint16_t types[] = { 6, 7, 8, 9, 10, 11, 15, 34, 35, 47, 50, 61, 71, 81, 24, 42 };

/* One message of the input: who sends it, what it says it is, and its body. */
static struct str next_message(struct str *in, size_t *peer, uint16_t *type)
{
	uint8_t head[4];

	memcpy(head, in->p, sizeof(head));
	*peer = head[0] % PEERS;
	*type = head[1] < 240 ? types[head[1] % COUNT(types)] : (uint16_t)(head[1] << 8 | head[2]);
	*in = str_skip(*in, sizeof(head));
	struct str body = str_head(*in, head[3]);
	*in = str_skip(*in, body.n);
	return body;
}

static void fill_channels(const int ours[PEERS], struct str in)
{
	for (int i = 0; i < MESSAGES_MAX && in.n >= 4; i++) {
		size_t peer;
		uint16_t type;
		struct str body = next_message(&in, &peer, &type);

		(void)!chan_send(ours[peer], type, body, NULL, 0, ERR_DISCARD);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ours[PEERS], theirs[PEERS];
	struct monitor_end end;
	struct err err;

	if (size < 1)
		return 0;
	for (int i = 0; i < PEERS; i++) {
		int pair[2];

		BUG_IF(chan_pair(pair, &err) < 0);
		ours[i] = pair[0];
		theirs[i] = pair[1];
		BUG_IF(chan_nonblock(ours[i], &err) < 0);
	}
	fill_channels(ours, str_of(data + 1, size - 1));
	for (int i = 0; i < PEERS; i++)
		shutdown(ours[i], SHUT_WR); /* after the last message everybody is gone, so every run ends */

	struct peer peers[PEERS];
	for (int i = 0; i < PEERS; i++)
		peers[i] = (struct peer){ .proc = { 0, -1 }, .chan = theirs[i] };
	struct monitor_spec spec = { .zygote = peers[0], .git = peers[1], .client = peers[2], .broker = peers[3],
		.recorder = peers[4], .spawner = peers[5], .view = peers[6], .resolver = peers[9], .agent_chan = theirs[7], .servers = { { peers[8], STR("srv") } }, .nservers = 1,
		.answers_fd = -1, .leash_fd = -1, .commands = (enum approval_policy)(data[0] % 3), .attended = data[0] & 4, .hooks_wait = data[0] & 8,
		.go = STR("go") };

	(void)!monitor_run(&spec, &end, &err);
	for (int i = 0; i < PEERS; i++)
		close(ours[i]);
	return 0;
}
