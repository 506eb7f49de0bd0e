// SPDX-License-Identifier: Apache-2.0
// Damaris declares its inner environment here. With Leat a program has all of it by the calls of Damaris.h; the file is
// there since programs, like OPM Flow, include it.
#pragma once

#include <Damaris.h>
