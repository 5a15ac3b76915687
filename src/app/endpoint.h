/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* endpoint: a configured provider turned into the client's row for it.
 *
 * Shape    app_endpoint. The key is taken from the environment when the provider names a variable that
 *          is set, otherwise the client looks it up in the secrets file.
 * Memory   Texts live in the arena; an inline key is the endpoint's own (endpoints_fini wipes it).
 * Errors   -ERR_INVALID naming the provider and what is wrong with it.
 * Source   docs/config.md, "providers"; the paths are the vendors' (docs/providers.md, "Where they run").
 */
#ifndef APP_ENDPOINT_H
#define APP_ENDPOINT_H

#include "config/config.h"
#include "fmt/endpoint.h"
#include "provider/model.h"

int app_endpoint(const struct config_provider *p, struct str model, struct arena *mem, struct endpoint *out,
	struct err *err) CHECKED;
/* What is spoken there with this model: the api_format, or what model_wire makes of it. */
enum api_wire app_wire(const struct config_provider *p, struct str model);
/* Overwrites the values of every key variable a provider names in our own environment: it is readable
 * in /proc for as long as we live. */
void app_endpoint_forget_keys(const struct config *c);

#endif
