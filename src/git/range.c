/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "git/range.h"

#include "git/gitop.h"

#define SHOWN 200

int range_side(const char *flag, struct str text, struct err *err)
{
	const char *wrong = git_expr_wrong(text);

	return wrong ? err_set(err, ERR_INVALID, "%s: \"" STR_FMT "\" is no revision: %s", flag, STR_ARG(str_head(text, SHOWN)), wrong)
		     : 0;
}

/* Where ".." stands outside of braces; the length: nowhere. */
static size_t find_dots(struct str text)
{
	bool in_braces = false;

	for (size_t i = 0; i + 1 < text.n; i++) {
		in_braces = text.p[i] == '{' || (in_braces && text.p[i] != '}');
		if (!in_braces && text.p[i] == '.' && text.p[i + 1] == '.')
			return i;
	}
	return text.n;
}

static int parse_one(struct str text, struct range *out, struct err *err)
{
	struct str rev = str_trim_suffix(str_trim_suffix(text, STR("^!")), STR("^-"));

	if (rev.n == text.n || rev.n == 0)
		return err_set(err, ERR_INVALID, "--range: \"" STR_FMT "\" is not FROM..TO, FROM...TO or REV^!", STR_ARG(str_head(text, SHOWN)));
	TRY(range_side("--range", rev, err));
	*out = (struct range){ RANGE_ONE, STR(""), rev };
	return 0;
}

int range_parse(struct str text, struct range *out, struct err *err)
{
	size_t dots = find_dots(text);
	struct range r = { .from = str_head(text, dots) };

	if (text.n > RANGE_MAX)
		return err_set(err, ERR_INVALID, "--range: longer than %d bytes", RANGE_MAX);
	if (dots == text.n)
		return parse_one(text, out, err);
	r.how = str_starts(str_skip(text, dots), STR("...")) ? RANGE_PARTED : RANGE_TWO;
	r.to = str_skip(text, dots + (r.how == RANGE_PARTED ? 3 : 2));
	r.from = r.from.n > 0 ? r.from : STR("HEAD");
	r.to = r.to.n > 0 ? r.to : STR("HEAD");
	TRY(range_side("--range", r.from, err));
	TRY(range_side("--range", r.to, err));
	*out = r;
	return 0;
}
