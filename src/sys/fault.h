/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fault: makes the nth call that can fail, fail. Tests of promises use it; a normal build asks once
 * per call and the answer is no.
 *
 * Shape    fault_arm(nth, EIO); run; fired = fault_disarm();
 */
#ifndef SYS_FAULT_H
#define SYS_FAULT_H

#include "base/base.h"

void fault_arm(int nth, int sys); /* the nth fault_hit from now on answers sys; 1-based */
int fault_disarm(void);           /* 1 when it fired */
int fault_hit(void);              /* 0, or the errno to pretend */

#endif
