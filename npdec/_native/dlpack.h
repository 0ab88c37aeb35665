/* How tensors are exchanged without a call of Python: the C interface of DLPack 1.2 or later, which torch offers as
 * `torch.Tensor.__dlpack_c_exchange_api__` (https://dmlc.github.io/dlpack/latest/c_api.html). The order of the members,
 * and their sizes, are that standard's; of what is not used here only the place is kept. */
#ifndef NPDEC_DLPACK_H
#define NPDEC_DLPACK_H

#include <stdint.h>

enum { OF_INTEGER, OF_UNSIGNED, OF_FLOAT, OF_COMPLEX = 5, OF_BOOL = 6 };
enum { ON_HOST = 1 };

typedef struct {
    void *elements;
    int32_t device, number_of_device, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements */
    uint64_t offset;          /* in bytes */
} Array;

typedef struct managed {
    uint32_t major, minor;
    void *owner;
    void (*free)(struct managed *);
    uint64_t flags;
    Array array;
} Managed;

typedef struct {
    uint32_t major, minor;
    void *older;
    void *allocate, *from_tensor;
    int (*to_tensor)(Managed *, void **);
    int (*look_at)(void *, Array *);
    void *stream;
} Exchange;

#endif
