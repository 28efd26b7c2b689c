// Message passing: one thread writes a payload and then a flag, another waits for
// the flag and reads the payload. Across: two blocks. Within: two warps of a block.
#include "order.cuh"

// launch 2 32
// verdict races write-read
extern "C" __global__ void volatile_flag_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        *(volatile unsigned *)flag = 1;
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (*(volatile unsigned *)flag == 0) {
        }
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict race-free
extern "C" __global__ void volatile_flag_fences_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42;
        __threadfence();
        *(volatile unsigned *)flag = 1;
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (*(volatile unsigned *)flag == 0) {
        }
        __threadfence();
        out[0] = data[0];
    }
}

// launch 2 32
// verdict races write-read, set-wait
extern "C" __global__ void relaxed_block_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELAXED, BLOCK, flag, 1u); // @set
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(RELAXED, BLOCK, flag) == 0) { // @wait
        }
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict races write-read, set-wait
extern "C" __global__ void release_acquire_block_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELEASE, BLOCK, flag, 1u); // @set
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(ACQUIRE, BLOCK, flag) == 0) { // @wait
        }
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict races write-read
extern "C" __global__ void fences_block_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        FENCE(BLOCK);
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        FENCE(BLOCK);
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict races write-read
extern "C" __global__ void relaxed_device_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict race-free
extern "C" __global__ void release_acquire_device_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42;
        STORE(RELEASE, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(ACQUIRE, DEVICE, flag) == 0) {
        }
        out[0] = data[0];
    }
}

// launch 2 32
// verdict race-free
extern "C" __global__ void fences_device_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42;
        FENCE(DEVICE);
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        FENCE(DEVICE);
        out[0] = data[0];
    }
}

// launch 1 64
// verdict races write-read
extern "C" __global__ void volatile_flag_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42; // @write
        *(volatile unsigned *)flag = 1;
    } else if (threadIdx.x == 32) {
        while (*(volatile unsigned *)flag == 0) {
        }
        out[0] = data[0]; // @read
    }
}

// launch 1 64
// verdict race-free
extern "C" __global__ void volatile_flag_fences_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42;
        __threadfence();
        *(volatile unsigned *)flag = 1;
    } else if (threadIdx.x == 32) {
        while (*(volatile unsigned *)flag == 0) {
        }
        __threadfence();
        out[0] = data[0];
    }
}

// launch 1 64
// verdict races write-read
extern "C" __global__ void relaxed_block_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELAXED, BLOCK, flag, 1u);
    } else if (threadIdx.x == 32) {
        while (LOAD(RELAXED, BLOCK, flag) == 0) {
        }
        out[0] = data[0]; // @read
    }
}

// launch 1 64
// verdict race-free
extern "C" __global__ void release_acquire_block_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42;
        STORE(RELEASE, BLOCK, flag, 1u);
    } else if (threadIdx.x == 32) {
        while (LOAD(ACQUIRE, BLOCK, flag) == 0) {
        }
        out[0] = data[0];
    }
}

// launch 1 64
// verdict race-free
extern "C" __global__ void fences_block_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42;
        FENCE(BLOCK);
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (threadIdx.x == 32) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        FENCE(BLOCK);
        out[0] = data[0];
    }
}

// launch 1 64
// verdict races write-read
extern "C" __global__ void relaxed_device_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (threadIdx.x == 32) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        out[0] = data[0]; // @read
    }
}

// launch 1 64
// verdict race-free
extern "C" __global__ void release_acquire_device_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42;
        STORE(RELEASE, DEVICE, flag, 1u);
    } else if (threadIdx.x == 32) {
        while (LOAD(ACQUIRE, DEVICE, flag) == 0) {
        }
        out[0] = data[0];
    }
}

// launch 1 64
// verdict race-free
extern "C" __global__ void fences_device_within(unsigned *data, unsigned *flag, unsigned *out) {
    if (threadIdx.x == 0) {
        data[0] = 42;
        FENCE(DEVICE);
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (threadIdx.x == 32) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        FENCE(DEVICE);
        out[0] = data[0];
    }
}

// launch 2 32
// verdict races write-read
extern "C" __global__ void fence_of_the_writer_only_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        FENCE(DEVICE);
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict races write-read
extern "C" __global__ void fence_of_the_reader_only_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42; // @write
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(RELAXED, DEVICE, flag) == 0) {
        }
        FENCE(DEVICE);
        out[0] = data[0]; // @read
    }
}

// launch 2 32
// verdict race-free
extern "C" __global__ void fence_and_acquire_across(unsigned *data, unsigned *flag, unsigned *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42;
        FENCE(DEVICE);
        STORE(RELAXED, DEVICE, flag, 1u);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (LOAD(ACQUIRE, DEVICE, flag) == 0) {
        }
        out[0] = data[0];
    }
}
