/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* preset: strategy presets, several keys under one name: ours and those of [presets.NAME].
 *
 * Shape    config_load applies the chosen one; these list what there is to choose from.
 * Memory   In the configuration's arena.
 * Errors   Only those of the buffer. What is wrong with a definition, config_load tells.
 */
#ifndef CONFIG_PRESET_H
#define CONFIG_PRESET_H

#include "config/config.h"

int config_presets_text(struct config *c, struct buf *out, struct err *err) CHECKED;
/* {"chosen":NAME or null,"source":LAYER,"presets":[{"name","built_in","chosen","file","keys":{KEY:VALUE}}]} */
int config_presets_json(struct config *c, struct buf *out, struct err *err) CHECKED;
struct str_list config_preset_names(const struct config *c);

#endif
