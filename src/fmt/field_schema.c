/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "fmt/field_priv.h"

static int schema_plain(const struct field *f, const char *type, const char *more, struct buf *out,
	struct err *err)
{
	TRY(buf_addf(out, err, "{\"type\":\"%s\"%s", type, more));
	if (f->help)
		TRY(json_add_member(out, "description", str_from(f->help), err));
	return 0;
}

#define SCHEMA(name, type, more)                                                                             \
	int name(const struct field *f, struct buf *out, struct err *err)                                    \
	{                                                                                                    \
		TRY(schema_plain(f, type, more, out, err));                                                  \
		return buf_addc(out, '}', err);                                                              \
	}
SCHEMA(field_schema_str, "string", "")
SCHEMA(field_schema_int, "integer", "")
SCHEMA(field_schema_num, "number", "")
SCHEMA(field_schema_bool, "boolean", "")
SCHEMA(field_schema_json, "object", "")
SCHEMA(field_schema_strs, "array", ",\"items\":{\"type\":\"string\"}")
#undef SCHEMA

int field_schema_enum(const struct field *f, struct buf *out, struct err *err)
{
	TRY(schema_plain(f, "string", "", out, err));
	TRY(buf_addz(out, ",\"enum\":[", err));
	for (size_t i = 0; f->choices[i]; i++) {
		TRY(buf_addz(out, i > 0 ? "," : "", err));
		TRY(json_add_quoted(out, str_from(f->choices[i]), err));
	}
	return buf_addz(out, "]}", err);
}

int field_schema_objs(const struct field *f, struct buf *out, struct err *err)
{
	TRY(schema_plain(f, "array", "", out, err));
	TRY(buf_addz(out, ",\"items\":", err));
	TRY(fields_schema(f->sub, f->nsub, out, err));
	return buf_addc(out, '}', err);
}

int fields_schema(const struct field *f, size_t n, struct buf *out, struct err *err)
{
	const char *sep = "";

	TRY(buf_addz(out, "{\"type\":\"object\",\"properties\":{", err));
	for (size_t i = 0; i < n; i++) {
		if (f[i].flags & FIELD_HIDDEN)
			continue;
		TRY(buf_addf(out, err, "%s\"%s\":", sep, f[i].name));
		TRY(f[i].type->schema(&f[i], out, err));
		sep = ",";
	}
	TRY(buf_addz(out, "},\"required\":[", err));
	sep = "";
	for (size_t i = 0; i < n; i++) {
		if ((f[i].flags & (FIELD_REQUIRED | FIELD_HIDDEN)) != FIELD_REQUIRED)
			continue;
		TRY(buf_addf(out, err, "%s\"%s\"", sep, f[i].name));
		sep = ",";
	}
	return buf_addz(out, "],\"additionalProperties\":false}", err);
}
