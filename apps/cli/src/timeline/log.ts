import type { Host } from '@tenure/app-kit'
import { readTaskHistory } from '@tenure/history'
import { withHistory } from '../with-history.js'
import { type Recording, recordingOfLog, recordingOfTask } from './recording.js'

interface Place {
  readonly directory: string
  readonly taskId: number | undefined
  readonly name: string
}

/** What a log has recorded, of one task or of all. */
export function withRecording(
  { directory, taskId, name }: Place,
  action: (recording: Recording, lastAt: () => Promise<number>, host: Host) => Promise<number>,
): (host: Host) => Promise<number> {
  return withHistory(directory, async (history, host) => {
    const recording =
      taskId === undefined
        ? await recordingOfLog(name, history)
        : recordingOfTask(name, await readTaskHistory(history, taskId))
    return action(recording, async () => (await history.end()).at, host)
  })
}
