/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "sys/fault.h"

static int fault_left, fault_sys, fault_fired;

void fault_arm(int nth, int sys)
{
	fault_left = nth;
	fault_sys = sys;
	fault_fired = 0;
}

int fault_disarm(void)
{
	fault_left = 0;
	return fault_fired;
}

int fault_hit(void)
{
	if (fault_left == 0 || --fault_left > 0)
		return 0;
	fault_fired = 1;
	return fault_sys;
}
