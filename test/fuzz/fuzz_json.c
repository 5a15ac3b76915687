/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Any bytes as JSON: what is read is written so that it reads back as the same, and any bytes can be quoted. */
#include "fmt/json.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_read(struct str text, enum json_mode mode)
{
	auto_buf struct buf out = BUF_MAX((size_t)1 << 24);
	auto_json json_t *j = NULL, *back = NULL;
	struct err err = { 0 };

	if (json_decode(text, mode, &j, &err) < 0) {
		BUG_IF(err.msg[0] == '\0' || strchr(err.msg, '\n'));
		return;
	}
	BUG_IF(json_add(&out, j, &err) < 0);
	BUG_IF(json_decode(buf_str(&out), JSON_EXACT, &back, &err) < 0);
	BUG_IF(!json_equal(j, back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buf struct buf quoted = BUF_MAX((size_t)1 << 24);
	struct str text = str_of(data, size);
	auto_json json_t *any = json_text(text);
	auto_json json_t *back = NULL;

	check_read(text, JSON_EXACT);
	check_read(text, JSON_REPAIR);
	BUG_IF(json_add_quoted(&quoted, text, ERR_DISCARD) < 0);
	BUG_IF(json_decode(buf_str(&quoted), JSON_EXACT, &back, ERR_DISCARD) < 0 || !json_equal(any, back));
	return 0;
}
