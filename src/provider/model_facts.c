/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "provider/model_priv.h"

#include <string.h>

/* Names are as normalise leaves them. Money is micro-dollars per million tokens, -1 unknown; a cache
 * price that is unknown is charged as the prompt, so that a budget errs to the safe side. A tier is
 * the price of a whole request whose prompt is larger than tier_above tokens; 0 means none. Texts stand in the
 * rows: an address would have to be written at each start of the program. */
static const struct {
	char name[32];
	int64_t in, out, cache_read, cache_write, tier_above, tier_in, tier_out, window, max_output;
	char source[32];
} facts[] = {
	/* name, in, out, cache read, cache write, tier above, tier in, tier out, window, max output */
	{ "claude-fable-5-2", 8000000, 40000000, 200000, 10000000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-fable-5-1", 10000000, 50000000, 250000, 12500000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-fable-5", 10000000, 50000000, 1000000, 12500000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-mythos-5-2", 8000000, 40000000, 200000, 10000000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-mythos-5", 10000000, 50000000, 1000000, 12500000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-opus-5-5", 4000000, 20000000, 200000, 5000000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-opus-5", 5000000, 25000000, 500000, 6250000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-opus-4-8", 5000000, 25000000, 500000, 6250000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-opus-4-7", 5000000, 25000000, 500000, 6250000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-opus-4-6", 5000000, 25000000, 500000, 6250000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-opus-4-5", 5000000, 25000000, 500000, 6250000, 0, 0, 0, 200000, 64000, "platform.claude.com 2026-11" },
	{ "claude-sonnet-5-5", 2000000, 10000000, 200000, 2500000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-sonnet-5", 2000000, 10000000, 200000, 2500000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-sonnet-4-6", 3000000, 15000000, 300000, 3750000, 0, 0, 0, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-sonnet-4-5", 3000000, 15000000, 300000, 3750000, 0, 0, 0, 200000, 64000, "platform.claude.com 2026-11" },
	{ "claude-haiku-5-5", 100000, 500000, -1, 125000, 100000, 500000, 2500000, 1000000, 128000, "platform.claude.com 2026-11" },
	{ "claude-haiku-4-5", 1000000, 5000000, 100000, 1250000, 0, 0, 0, 200000, 64000, "platform.claude.com 2026-11" },
	{ "gpt-6-2-astra", 8000000, 40000000, -1, -1, 272000, 16000000, 60000000, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-6-2-sol", 2000000, 10000000, -1, -1, 0, 0, 0, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-6-1-sol", 2000000, 10000000, 100000, 2500000, 272000, 4000000, 15000000, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-6-1-terra", 1000000, 5000000, -1, -1, 0, 0, 0, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-6-astra", 10000000, 50000000, 1000000, 12500000, 272000, 20000000, 75000000, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-6-sol", 2000000, 10000000, 200000, 2500000, 272000, 4000000, 15000000, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-6-luna", 100000, 500000, 10000, 125000, 272000, 200000, 750000, 1050000, 128000, "developers.openai.com 2026-11" },
	{ "gpt-5-6-sol", 5000000, 30000000, 500000, 6250000, 272000, 10000000, 45000000, 1050000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-6-terra", 2000000, 12000000, 200000, 2500000, 272000, 4000000, 18000000, 1050000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-6-luna", 200000, 1200000, 20000, 250000, 272000, 400000, 1800000, 1050000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-5", 5000000, 30000000, 500000, -1, 0, 0, 0, 1050000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-4", 2500000, 15000000, 250000, -1, 272000, 5000000, 22500000, 1050000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-4-mini", 750000, 4500000, 75000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-4-nano", 200000, 1250000, 20000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-3-codex", 1750000, 14000000, 175000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-2", 1750000, 14000000, 175000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-1", 1250000, 10000000, 125000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5", 1250000, 10000000, 125000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-mini", 250000, 2000000, 25000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-5-nano", 50000, 400000, 5000, -1, 0, 0, 0, 400000, 128000, "genai-prices 2026-08" },
	{ "gpt-4-1", 2000000, 8000000, 500000, -1, 0, 0, 0, 1047576, 32768, "genai-prices 2026-08" },
	{ "gpt-4-1-mini", 400000, 1600000, 100000, -1, 0, 0, 0, 1047576, 32768, "genai-prices 2026-08" },
	{ "gpt-4o", 2500000, 10000000, 1250000, -1, 0, 0, 0, 128000, 16384, "genai-prices 2026-08" },
	{ "gpt-4o-mini", 150000, 600000, 75000, -1, 0, 0, 0, 128000, 16384, "genai-prices 2026-08" },
	{ "o3", 2000000, 8000000, 500000, -1, 0, 0, 0, 200000, 100000, "genai-prices 2026-08" },
	{ "o4-mini", 1100000, 4400000, 275000, -1, 0, 0, 0, 200000, 100000, "genai-prices 2026-08" },
	{ "gemini-3-7-flash", 750000, 3750000, 75000, -1, 0, 0, 0, 1048576, 65536, "catwalk 2026-08" },
	{ "gemini-3-6-flash", 1500000, 7500000, 150000, -1, 0, 0, 0, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-3-5-flash", 1500000, 9000000, 150000, -1, 0, 0, 0, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-3-5-flash-lite", 300000, 2500000, 30000, -1, 0, 0, 0, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-3-1-pro-preview", 2000000, 12000000, 200000, -1, 200000, 4000000, 18000000, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-3-1-flash-lite", 250000, 1500000, 25000, -1, 0, 0, 0, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-3-flash-preview", 500000, 3000000, 50000, -1, 0, 0, 0, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-2-5-pro", 1250000, 10000000, 125000, -1, 200000, 2500000, 15000000, 1048576, 65536, "genai-prices 2026-08" },
	{ "gemini-2-5-flash", 300000, 2500000, 30000, -1, 0, 0, 0, 1048576, 65536, "genai-prices 2026-08" },
	{ "deepseek-v4-pro", 435000, 870000, 3625, -1, 0, 0, 0, 1000000, 384000, "genai-prices 2026-08" },
	{ "deepseek-v4-flash", 140000, 280000, 2800, -1, 0, 0, 0, 1000000, 384000, "genai-prices 2026-08" },
	{ "kimi-k3", 3000000, 15000000, 300000, -1, 0, 0, 0, 1048576, 131072, "genai-prices 2026-08" },
	{ "kimi-k2-7-code", 950000, 4000000, 190000, -1, 0, 0, 0, 262144, 32768, "genai-prices 2026-08" },
	{ "kimi-k2-6", 950000, 4000000, 160000, -1, 0, 0, 0, 262144, 32768, "genai-prices 2026-08" },
	{ "kimi-k2-5", 600000, 3000000, 100000, -1, 0, 0, 0, 262144, 32768, "genai-prices 2026-08" },
	{ "glm-5-3", 1400000, 4400000, 260000, -1, 0, 0, 0, 1000000, 131072, "catwalk 2026-08" },
	{ "glm-5-1", 1400000, 4400000, 260000, -1, 0, 0, 0, 204800, 65536, "catwalk 2026-08" },
	{ "glm-4-7", 600000, 2200000, 110000, -1, 0, 0, 0, 204800, 98000, "catwalk 2026-08" },
	{ "minimax-m3", 300000, 1200000, 60000, -1, 512000, 600000, 2400000, 1000000, 512000, "genai-prices 2026-08" },
	{ "minimax-m2-7", 300000, 1200000, 60000, 375000, 0, 0, 0, 204800, 128000, "genai-prices 2026-08" },
	{ "grok-4-6", 2000000, 6000000, 500000, -1, 0, 0, 0, 500000, 0, "catwalk 2026-08" },
	{ "grok-4-5", 2000000, 6000000, 500000, -1, 200000, 4000000, 12000000, 500000, 0, "genai-prices 2026-08" },
	{ "grok-4-3", 1250000, 2500000, 200000, -1, 200000, 2500000, 5000000, 1000000, 30000, "genai-prices 2026-08" },
	{ "mistral-large-2512", 500000, 1500000, 50000, -1, 0, 0, 0, 262144, 262144, "genai-prices 2026-08" },
	{ "mistral-medium-2604", 1500000, 7500000, -1, -1, 0, 0, 0, 262144, 0, "catwalk 2026-08" },
	{ "devstral-2512", 400000, 2000000, 40000, -1, 0, 0, 0, 262144, 262144, "genai-prices 2026-08" },
	{ "codestral-2508", 300000, 900000, 30000, -1, 0, 0, 0, 256000, 0, "genai-prices 2026-08" },
	{ "mistral-small-2603", 150000, 600000, 15000, -1, 0, 0, 0, 262144, 0, "genai-prices 2026-08" },
	{ "qwen3-coder-plus", 650000, 3250000, 130000, -1, 0, 0, 0, 1000000, 65536, "catwalk 2026-08" },
	{ "qwen3-coder", -1, -1, -1, -1, 0, 0, 0, 262144, 32768, "catwalk 2026-08" },
	{ "qwen3-7-max", 1475000, 4425000, 295000, -1, 0, 0, 0, 1000000, 65536, "catwalk 2026-08" },
	{ "qwen3-7-plus", 320000, 1280000, 64000, -1, 0, 0, 0, 1000000, 65536, "catwalk 2026-08" },
	{ "claude-3-5-sonnet", -1, -1, -1, -1, 0, 0, 0, 200000, 0, "model card 2026-08" },
	{ "claude-3-5-haiku", -1, -1, -1, -1, 0, 0, 0, 200000, 0, "model card 2026-08" },
	{ "kimi-k2", -1, -1, -1, -1, 0, 0, 0, 131072, 0, "model card 2026-08" },
	{ "qwen3-coder-30b-a3b-instruct", -1, -1, -1, -1, 0, 0, 0, 160000, 0, "model card 2026-08" },
	{ "glm-4-6", -1, -1, -1, -1, 0, 0, 0, 202752, 0, "model card 2026-08" },
	{ "glm-5-2", -1, -1, -1, -1, 0, 0, 0, 1048576, 0, "model card 2026-08" },
	{ "deepseek-v3-2-exp", -1, -1, -1, -1, 0, 0, 0, 163840, 0, "model card 2026-08" },
};

/* "anthropic/Claude-Opus-4.8:beta" and "claude-opus-4-8-20260101" are both claude-opus-4-8. */
static struct str normalise(struct str id, char out[96])
{
	size_t slash = str_rfind(id, '/'), n = 0;

	if (slash < id.n)
		id = str_skip(id, slash + 1);
	id = str_cut(&id, ':');
	id = str_cut(&id, '@');
	for (; n < id.n && n < 95; n++) {
		char c = id.p[n];

		out[n] = (char)(c == '.' ? '-' : c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	if (n > 9 && memcmp(out + n - 9, "-20", 3) == 0 && strspn(out + n - 6, "0123456789") >= 6)
		n -= 9;
	return str_of(out, n);
}

struct model_facts model_facts_get(struct str model)
{
	char text[96] = { 0 };
	struct str name = normalise(model, text);

	for (size_t i = 0; i < COUNT(facts); i++) {
		if (!str_eqz(name, facts[i].name))
			continue;
		return (struct model_facts){
			.price_known = facts[i].in >= 0,
			.in = facts[i].in,
			.out = facts[i].out,
			.cache_read = facts[i].cache_read >= 0 ? facts[i].cache_read : facts[i].in,
			.cache_write = facts[i].cache_write >= 0 ? facts[i].cache_write : facts[i].in,
			.tier_above = facts[i].tier_above,
			.tier_in = facts[i].tier_in,
			.tier_out = facts[i].tier_out,
			.window = facts[i].window,
			.max_output = facts[i].max_output,
			.source = facts[i].source,
		};
	}
	return (struct model_facts){ 0 };
}

bool model_facts_row(size_t i, struct model_row *out)
{
	if (i >= COUNT(facts))
		return false;
	*out = (struct model_row){ .name = facts[i].name, .source = facts[i].source };
	return true;
}
