import type { Host } from '@tenure/app-kit'
import { warnOfUnreadable } from '../log/damage.js'
import { readTaskOverDamage } from '../log/over-damage.js'
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
    const lastAt = async () => (await history.end()).at
    if (taskId === undefined) return action(await recordingOfLog(name, history), lastAt, host)
    const { read, unreadable } = await readTaskOverDamage(directory, history, taskId)
    warnOfUnreadable(unreadable, host)
    return action(recordingOfTask(name, read), lastAt, host)
  })
}
