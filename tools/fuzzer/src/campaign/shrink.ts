import type { Input, Step } from '../input/input.js'

/**
 * Removes everything that the failure does not need: whole steps first, then parts of their bytes
 * and texts.
 */
export async function shrink(
  input: Input,
  fails: (input: Input) => Promise<boolean>,
  triesMax: number,
): Promise<Input> {
  let left = triesMax
  const attempts: Attempts = {
    get areLeft() {
      return left > 0
    },
    async isKept(smaller) {
      left--
      return fails(smaller)
    },
  }
  let smallest = input
  for (let before = -1; before !== sizeOf(smallest); ) {
    before = sizeOf(smallest)
    smallest = await shorten(smallest, attempts, (steps) => steps)
    for (let at = 0; at < smallest.length; at++)
      smallest = await shortenStep(smallest, at, attempts)
  }
  return smallest
}

interface Attempts {
  readonly areLeft: boolean
  isKept(smaller: Input): Promise<boolean>
}

async function shortenStep(input: Input, at: number, attempts: Attempts): Promise<Input> {
  const step = input[at]!
  const put = (part: Partial<Step>) => input.with(at, { ...step, ...part })
  if (step.bytes !== undefined) {
    const toInput = (values: readonly number[]) => put({ bytes: Uint8Array.from(values) })
    return toInput(await shorten([...step.bytes], attempts, toInput))
  }
  if (step.text === undefined) return input
  const toInput = (letters: readonly string[]) => put({ text: letters.join('') })
  return toInput(await shorten([...step.text], attempts, toInput))
}

/** Tries to remove halves, then quarters, down to single items. */
async function shorten<T>(
  items: readonly T[],
  attempts: Attempts,
  toInput: (items: readonly T[]) => Input,
): Promise<readonly T[]> {
  let kept = items
  for (let size = Math.ceil(items.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < kept.length && attempts.areLeft; ) {
      const smaller = kept.toSpliced(at, size)
      if (await attempts.isKept(toInput(smaller))) kept = smaller
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
