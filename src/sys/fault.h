/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
/* fault: makes the nth call that can fail, fail. Tests of promises use it; a normal build asks once
 * per call and the answer is no.
 *
 * Shape    fault_arm(nth, EIO); run; fired = fault_disarm();
 *          Instead of an errno: FAULT_SHORT, a write takes half of its bytes; FAULT_HALF, it does, and the next call that can
 *          fail finds the disk full. A call that is no write fails with them as with an errno.
 */
#ifndef SYS_FAULT_H
#define SYS_FAULT_H

#include "base/base.h"

#define FAULT_SHORT 10001 /* beyond every errno */
#define FAULT_HALF  10002

void fault_arm(int nth, int sys); /* the nth fault_hit from now on answers sys; 1-based */
int fault_disarm(void);           /* 1 when it fired */
int fault_hit(void);              /* 0, or the errno to pretend */

#endif
