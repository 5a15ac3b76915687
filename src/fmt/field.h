/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* field: one value described once, wherever it comes from: a config file, a command line, a model's
 * tool call.
 *
 * Shape    A table of struct field describes a C struct. fields_from_json decodes a tool call,
 *          field_parse reads one value from text (config, flags), fields_schema prints JSON Schema.
 * Memory   Strings and lists are copied into the arena that is passed in.
 * Errors   -ERR_INVALID or -ERR_SYNTAX, naming the value's path, what was expected and what was
 *          there: `edits[2].kind: "move" is not one of replace, create`.
 */
#ifndef FMT_FIELD_H
#define FMT_FIELD_H

#include "base/arena.h"
#include "base/buf.h"
#include "fmt/json.h"

enum field_flags {
	FIELD_REQUIRED = 1 << 0,
	FIELD_LOOSENS = 1 << 1,   /* changing it from its default can loosen security */
	FIELD_GLOBAL = 1 << 2,    /* config: only in the global file */
	FIELD_NONEMPTY = 1 << 3,  /* a string or a list that must not be empty */
	FIELD_POSITIONAL = 1 << 4, /* command line: an argument, not a flag */
	FIELD_HIDDEN = 1 << 5,    /* not shown in help or schema */
	FIELD_EMPTY = 1 << 6,     /* command line: a value that may be empty, which no other string may */
};

struct str_list {
	struct str *p;
	size_t n;
};
struct obj_list {
	void *p; /* n structs of field.sub_size bytes */
	size_t n;
};

struct field;
struct field_type {
	const char *word;   /* "string", "integer", ... as a person would say it */
	size_t size;        /* of the slot */
	int (*parse)(const struct field *f, struct str text, struct arena *mem, void *slot, struct err *err);
	int (*print)(const struct field *f, const void *slot, struct buf *out, struct err *err); /* TOML spelling */
	int (*from_json)(const struct field *f, const char *at, const json_t *j, struct arena *mem, void *slot,
		struct err *err);
	int (*schema)(const struct field *f, struct buf *out, struct err *err);
};

/* slot types:            struct str  int64_t    double     bool        int (index into choices) */
extern const struct field_type field_str, field_int, field_num, field_bool, field_enum;
/*                        struct str_list  struct obj_list   json text of any object, a struct str */
extern const struct field_type field_strs, field_objs, field_json;

struct field {
	const char *name; /* for config: the dotted key */
	const struct field_type *type;
	size_t offset;
	unsigned flags;
	const char *dflt;            /* text, takes the same road as user input; NULL: zero bytes */
	int64_t min, max;            /* integers and numbers; both 0: no bound. Strings: max bytes. Lists: max items */
	const char *const *choices;  /* enums: NULL ended */
	const char *strict;          /* with FIELD_LOOSENS, of an enum: the value that is no looser than the default */
	const struct field *sub;     /* objects in a list */
	size_t nsub, sub_size;
	const char *help;
};

/* Fills `into` (zeroed by the callee) from a JSON object. Unknown members are errors; an absent one
 * takes its default; null counts as absent. A list or object that arrives as a string holding JSON
 * is accepted once. */
int fields_from_json(const struct field *f, size_t n, const json_t *obj, struct arena *mem, void *into,
	size_t into_size, struct err *err) CHECKED;
int fields_default(const struct field *f, size_t n, struct arena *mem, void *into, size_t into_size,
	struct err *err) CHECKED;
/* {"type":"object","properties":{...},"required":[...],"additionalProperties":false} */
int fields_schema(const struct field *f, size_t n, struct buf *out, struct err *err) CHECKED;

int field_parse(const struct field *f, struct str text, struct arena *mem, void *into, struct err *err) CHECKED;
int field_print(const struct field *f, const void *from, struct buf *out, struct err *err) CHECKED;
const struct field *field_find(const struct field *f, size_t n, struct str name);
const struct field *field_nearest(const struct field *f, size_t n, struct str name); /* NULL when none is near */

#endif
