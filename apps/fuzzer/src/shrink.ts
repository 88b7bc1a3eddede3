import type { Input, Step } from './input.js'

/** Leaves out whatever can be left out while it still fails: steps first, then parts of their bytes and texts. */
export async function shrink(
  input: Input,
  fails: (input: Input) => Promise<boolean>,
  triesMax: number,
): Promise<Input> {
  let tries = 0
  const isKept = async (smaller: Input) => ++tries <= triesMax && (await fails(smaller))
  let smallest = input
  for (let before = -1; before !== sizeOf(smallest); ) {
    before = sizeOf(smallest)
    smallest = await shorten(smallest, isKept)
    for (let at = 0; at < smallest.length; at++) smallest = await shortenStep(smallest, at, isKept)
  }
  return smallest
}

async function shortenStep(
  input: Input,
  at: number,
  isKept: (input: Input) => Promise<boolean>,
): Promise<Input> {
  const step = input[at]!
  const put = (part: Partial<Step>) => input.with(at, { ...step, ...part })
  if (step.bytes !== undefined) {
    const bytes = await shorten([...step.bytes], (values) =>
      isKept(put({ bytes: Uint8Array.from(values) })),
    )
    return put({ bytes: Uint8Array.from(bytes) })
  }
  if (step.text === undefined) return input
  const letters = await shorten([...step.text], (values) => isKept(put({ text: values.join('') })))
  return put({ text: letters.join('') })
}

/** Halves, then quarters, and so on to single items. */
async function shorten<T>(
  items: readonly T[],
  isKept: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = items
  for (let size = Math.ceil(items.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < kept.length; ) {
      const smaller = kept.toSpliced(at, size)
      if (await isKept(smaller)) kept = smaller
      else at += size
    }
  }
  return kept
}

function sizeOf(input: Input): number {
  return input.reduce(
    (sum, { bytes, text }) => sum + 1 + (bytes?.length ?? 0) + (text?.length ?? 0),
    0,
  )
}
