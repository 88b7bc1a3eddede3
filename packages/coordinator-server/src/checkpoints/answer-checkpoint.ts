import type { Answer, Checkpoint } from '@tenure/protocol'
import { rejected } from '../refusals.js'
import type { Checkpointed } from './checkpointer.js'

/** Makes a checkpoint and builds the answer to the request. */
export async function answerCheckpoint(
  { id }: Checkpoint,
  make: (() => Promise<Checkpointed>) | undefined,
): Promise<Answer> {
  if (make === undefined) {
    return rejected(id, 'INTERNAL', 'this coordinator cannot make checkpoints')
  }
  try {
    const { lsn, tasks, replayed, replayMs, writeMs, removed } = await make()
    const facts = {
      lsn,
      replayed,
      replayMs: Math.round(replayMs),
      writeMs: Math.round(writeMs),
      removed: { ...removed },
    }
    return {
      kind: 'checkpointed',
      id,
      checkpoint: tasks === undefined ? facts : { ...facts, tasks },
    }
  } catch (error) {
    if (hasCode(error, 'WAL_NO_SPACE')) return rejected(id, 'NO_SPACE')
    const why = error instanceof Error ? error.message : String(error)
    return rejected(id, 'INTERNAL', `the checkpoint failed: ${why}`)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
