/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* model_priv: the tables of models, whose rows are in two files. */
#ifndef PROVIDER_MODEL_PRIV_H
#define PROVIDER_MODEL_PRIV_H

#include "provider/model.h"

bool model_facts_row(size_t i, struct model_row *out);

#endif
