import { TenureError } from '@tenure/client'

/** Waits for what was begun, or no longer than the signal lets it. */
export async function unlessAborted<T>(signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw abortedBy(signal)
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortedBy(signal))
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([begin(), aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function abortedBy({ reason }: AbortSignal): TenureError {
  return new TenureError('CLIENT_ABORTED', 'aborted by its signal', { cause: reason })
}
