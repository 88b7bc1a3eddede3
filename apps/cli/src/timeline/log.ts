import { exitCodes, type Host } from '@tenure/app-kit'
import { openHistory, readTaskHistory } from '@tenure/history'
import { printable } from '../show/printable.js'
import { type Recording, recordingOfLog, recordingOfTask } from './recording.js'

interface Place {
  readonly directory: string
  readonly taskId: number | undefined
  readonly name: string
}

/** Reads a log, and says in one line why it cannot be read. */
export async function withLog(
  { directory, taskId, name }: Place,
  host: Host,
  action: (recording: Recording, host: Host) => Promise<number>,
): Promise<number> {
  try {
    const history = await openHistory(directory)
    const recording =
      taskId === undefined
        ? await recordingOfLog(name, history)
        : recordingOfTask(name, await readTaskHistory(history, taskId))
    return await action(recording, host)
  } catch (error) {
    // What the log, the history or the file system refuses has a code; anything else is a fault.
    if (!(error instanceof Error && 'code' in error)) throw error
    host.stderr.write(`tenure: ${printable(error.message)}\n`)
    return exitCodes.failed
  }
}
