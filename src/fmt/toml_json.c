/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* Apart from toml.c, so that a reader of TOML alone links no JSON library. */
#include "fmt/toml.h"

#include <math.h>
#include <string.h>

static int children_to_json(const struct toml *v, json_t *into, struct err *err)
{
	for (const struct toml *t = v->first; t; t = t->next) {
		json_t *child = NULL;
		int r;

		if (t->name.n > 0 && memchr(t->name.p, '\0', t->name.n))
			return err_set(err, ERR_INVALID, "a key holds a NUL");
		TRY(toml_to_json(t, &child, err));
		r = v->kind == TOML_ARRAY ? json_array_append_new(into, child)
					  : json_object_set_new(into, t->name.p, child);
		BUG_IF(r < 0);
	}
	return 0;
}

int toml_to_json(const struct toml *v, json_t **out, struct err *err)
{
	auto_json json_t *j = NULL;

	switch (v->kind) {
	case TOML_INTEGER:
		j = json_integer(v->integer);
		break;
	case TOML_FLOAT:
		if (!isfinite(v->real))
			return err_set(err, ERR_INVALID, "expected a finite number");
		j = json_real(v->real);
		break;
	case TOML_BOOL:
		j = json_boolean(v->boolean);
		break;
	case TOML_ARRAY:
	case TOML_TABLE:
		j = v->kind == TOML_ARRAY ? json_array() : json_object();
		TRY(children_to_json(v, j, err));
		break;
	default:
		j = json_text(v->text);
		break;
	}
	BUG_IF(!j);
	*out = take(&j);
	return 0;
}
