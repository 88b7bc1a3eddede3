import { attemptsOf } from '../state/attempts.js'
import type { State } from '../state/state.js'

/** Every blob must belong to exactly one task or attempt. */
export function* findBlobFaults(state: State): Generator<string> {
  const { tasks, blobs } = state.authoritative
  const seen = new Set<number>()
  let bytes = 0
  for (const row of tasks.rows()) {
    for (const blob of blobsOf(state, row)) {
      if (blob === 0) continue
      if (seen.has(blob)) yield `blob ${blob} is used twice, by task ${tasks.taskId.get(row)}`
      else if (!blobs.holds(blob)) yield `task ${tasks.taskId.get(row)} has no blob ${blob}`
      else bytes += blobs.length(blob)
      seen.add(blob)
    }
  }
  if (blobs.count !== seen.size) yield `${blobs.count} blobs are kept, tasks have ${seen.size}`
  if (blobs.bytes !== bytes) yield `${blobs.bytes} bytes of blobs are kept, tasks have ${bytes}`
}

function* blobsOf(state: State, row: number): Generator<number> {
  const { tasks, attempts } = state.authoritative
  yield tasks.input.get(row)
  yield tasks.outcome.get(row)
  for (const attempt of attemptsOf(state, row)) yield attempts.reportId.get(attempt)
}
