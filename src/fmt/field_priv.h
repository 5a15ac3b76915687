/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* field_priv: what field.c and field_schema.c share: field_schema.c knows what each type says of itself in a JSON
 * Schema. Each appends one schema object; ERR_LIMIT where OUT is full. */
#ifndef FMT_FIELD_PRIV_H
#define FMT_FIELD_PRIV_H

#include "fmt/field.h"

int field_schema_str(const struct field *f, struct buf *out, struct err *err);
int field_schema_int(const struct field *f, struct buf *out, struct err *err);
int field_schema_num(const struct field *f, struct buf *out, struct err *err);
int field_schema_bool(const struct field *f, struct buf *out, struct err *err);
int field_schema_enum(const struct field *f, struct buf *out, struct err *err);
int field_schema_strs(const struct field *f, struct buf *out, struct err *err);
int field_schema_objs(const struct field *f, struct buf *out, struct err *err);
int field_schema_json(const struct field *f, struct buf *out, struct err *err);

#endif
