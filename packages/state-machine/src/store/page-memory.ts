/**
 * Memory of a page, full of zeros. It is shared memory, although nobody shares it: other memory of
 * this kind V8 takes for rubbish that is to come, and each dozen megabytes of new tasks it would walk
 * through its heap to find none.
 */
export function takePageMemory(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(bytes)
}
