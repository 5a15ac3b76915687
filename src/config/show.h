/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* show: the effective configuration as text for people and as JSON; the reference page.
 *
 * Shape    One call for one way to show it, after config_load.
 * Memory   Appends to out.
 * Errors   -ERR_INVALID for a key or section that does not exist, naming the nearest.
 */
#ifndef CONFIG_SHOW_H
#define CONFIG_SHOW_H

#include "config/config.h"

/* All keys, one line each: a mark when some layer set it, key, value, source. */
int config_show_table(struct config *c, bool descriptions, struct buf *out, struct err *err) CHECKED;
/* KEY = value  [source], of one key. */
int config_show_line(struct config *c, struct str key, struct buf *out, struct err *err) CHECKED;
/* A key or a section, at length. */
int config_show_detail(struct config *c, struct str key, struct buf *out, struct err *err) CHECKED;
/* {"sandbox.profile":{"value":...},...}; only below these keys or sections when there are any. */
int config_show_json(struct config *c, struct str_list only, struct buf *out, struct err *err) CHECKED;
int config_print_reference(struct buf *out, struct err *err) CHECKED; /* docs/config.md */

#endif
