/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fault_priv: how the files of this room make a fault. */
#ifndef PROVIDER_FAULT_PRIV_H
#define PROVIDER_FAULT_PRIV_H

#include "fmt/jscan.h"
#include "provider/fault.h"

void provider_fault_set(struct provider_fault *f, enum provider_fault_kind kind, int status,
	struct str message);

/* An answer that holds an error object or text, as a member or as the first of an array. */
bool provider_has_error(struct jval body);

/* Somebody's web page, by its first bytes. */
bool provider_is_page(struct str body);

/* A status that says nothing more exact than the page does which came with it; a wait, a size or a bill does. */
bool provider_fault_may_be_page(enum provider_fault_kind kind);

/* Does text hold these words, whatever the case of its letters? */
bool provider_text_holds(struct str text, const char *words_in_lower_case);

#endif
