// In place of CUDA's.
#pragma once
#include "gs_numbers.h"
