import { History } from '@tenure/history'
import { type Book, sourceOf } from '@tenure/testing-histories'
import { recordingOfLog } from '../../src/timeline/recording.js'
import { makeTimeline, type Timeline, type TimelineOptions } from '../../src/timeline/timeline.js'

/** The timeline of a book, as of the log that a coordinator would have written. */
export async function timelineOf(
  book: Book,
  options: Partial<TimelineOptions> = {},
  source: Parameters<typeof sourceOf>[1] = {},
): Promise<Timeline> {
  const recording = await recordingOfLog('log data', new History(sourceOf(book, source)))
  const timeline = await makeTimeline(recording, { lanesBy: 'tasks', lanesMax: 40, ...options })
  if (timeline === undefined) throw new Error('nothing is recorded there')
  return timeline
}
