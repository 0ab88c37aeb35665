/* The memory of lazy arrays. Nobody waits for another thread here: while that uses the spare blocks, the system is
 * asked. */
#include "lazy.h"

#include <stdlib.h>

/* Large blocks that were freed last: what computes with such arrays takes the same ones again and again, and the system
 * would clear their pages each time. */
#define LARGE ((size_t)1 << 16)
#define BLOCKS 8
#define BYTES ((size_t)1 << 26)
static struct {
    PyThread_type_lock lock;
    struct block *blocks[BLOCKS];  /* the one that was freed first comes first */
    int count;
    size_t size;
} spare;

static struct block *
without_spare(int at)
{
    struct block *block = spare.blocks[at];
    spare.count--;
    spare.size -= block->size;
    memmove(spare.blocks + at, spare.blocks + at + 1, (size_t)(spare.count - at) * sizeof(*spare.blocks));
    return block;
}

struct block *
new_block(size_t size)
{
    struct block *block = NULL;
    if (spare.lock == NULL)
        spare.lock = PyThread_allocate_lock();
    if (size >= LARGE && spare.lock != NULL) {
        size = (size + 4095) / 4096 * 4096;
        int is_locked = PyThread_acquire_lock(spare.lock, NOWAIT_LOCK);
        for (int i = is_locked ? spare.count : 0; block == NULL && i-- > 0;)
            if (spare.blocks[i]->size >= size && spare.blocks[i]->size - size <= size / 8)
                block = without_spare(i);
        if (is_locked)
            PyThread_release_lock(spare.lock);
    }
    if (block == NULL) {
        block = malloc(size);
        if (block != NULL)
            block->size = size;
    }
    return block;
}

void
free_block(struct block *block)
{
    if (block != NULL && block->size >= LARGE && block->size <= BYTES / 2 && spare.lock != NULL
        && PyThread_acquire_lock(spare.lock, NOWAIT_LOCK)) {
        while (spare.count == BLOCKS || (spare.count && spare.size + block->size > BYTES))
            free(without_spare(0));
        spare.blocks[spare.count++] = block;
        spare.size += block->size;
        PyThread_release_lock(spare.lock);
        return;
    }
    free(block);
}
