/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "ui/cli/choose.h"

#include "ui/cli/prompt.h"

#include <stdio.h>

#define SHOWN_MOST 20

struct shown {
	const struct listed_model *p[SHOWN_MOST];
	size_t n;     /* how many of them are shown */
	size_t fits;  /* how many there are */
};

static void show(const struct model_list *list, struct str part, struct shown *out)
{
	*out = (struct shown){ .n = 0 };
	for (size_t i = 0; i < list->n; i++) {
		if (part.n > 0 && str_find(list->p[i].id, part) == list->p[i].id.n)
			continue;
		if (out->n < SHOWN_MOST)
			out->p[out->n++] = &list->p[i];
		out->fits++;
	}
	for (size_t i = 0; i < out->n; i++)
		fprintf(stderr, "  %2zu  " STR_FMT "\n", i + 1, STR_ARG(out->p[i]->id));
	if (out->fits > out->n)
		fprintf(stderr, "      and %zu more: type a part of the name\n", out->fits - out->n);
}

static const struct listed_model *pick(const struct model_list *list, const struct shown *shown, struct str answer)
{
	int64_t number;

	if (str_to_i64(answer, &number, ERR_DISCARD) == 0 && number >= 1 && number <= (int64_t)shown->n)
		return shown->p[number - 1];
	return models_find(list, answer);
}

static void tell_near(const struct model_list *list, struct str answer, struct arena *mem)
{
	struct str near[MODELS_NEAR];
	size_t n = models_near(list, answer, mem, near, MODELS_NEAR);

	fprintf(stderr, "none of the %zu is called so", list->n);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "%s" STR_FMT, i == 0 ? "; nearest: " : ", ", STR_ARG(near[i]));
	fputs("; typed once more it is taken all the same\n", stderr);
}

int choose_model(const struct model_list *list, struct arena *mem, struct str *out, struct err *err)
{
	struct str answer, refused = STR("");
	const struct listed_model *m;
	struct shown shown;

	show(list, STR(""), &shown);
	for (;;) {
		TRY(prompt_line("model, by number, name or a part of it", NULL, mem, &answer, err));
		if (answer.n == 0)
			continue;
		m = pick(list, &shown, answer);
		if (m || str_eq(answer, refused)) {
			*out = m ? m->id : answer;
			return 0;
		}
		struct shown fewer;

		show(list, answer, &fewer);
		if (fewer.fits == 1) {
			*out = fewer.p[0]->id;
			return 0;
		}
		refused = fewer.fits == 0 ? answer : STR("");
		if (fewer.fits == 0)
			tell_near(list, answer, mem);
		else
			shown = fewer;
	}
}
