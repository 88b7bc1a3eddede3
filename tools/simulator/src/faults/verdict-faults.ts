import { editOf, type Fault } from './fault.js'

const format = 'packages/wal/test/format.test.ts'
const table = 'the verdict table'

const verdict = editOf('wal', 'scan/verdict')
/** Proved damage counts as a write that never returned. */
const asTorn = (old: string) =>
  verdict(old, old.replace('corrupt(', "((why) => ({ kind: 'torn', why }))("))

/** Verdicts about the end of a log. */
export const verdictFaults: readonly Fault[] = [
  {
    name: 'a read error counts as a torn write',
    test: [format, table],
    edits: asTorn('return corrupt(`it cannot'),
  },
  {
    name: 'a read error after the end is ignored',
    test: [format, table],
    edits: verdict('if (behind.readError !== undefined)', 'if (false)'),
  },
  {
    name: 'a missing header before written sectors counts as the end',
    test: [format, table],
    edits: verdict(
      "nothing: 'clean',\n        sectors: 'torn'",
      "nothing: 'clean',\n        sectors: 'clean'",
    ),
  },
  {
    name: 'a missing header before nothing counts as a torn write',
    test: [format, table],
    edits: verdict("nothing: 'clean',", "nothing: 'torn',"),
  },
  {
    name: 'a stale batch counts as a torn write',
    test: [format, table],
    edits: asTorn('return corrupt(`a batch that is stale'),
  },
  {
    name: 'undecodable records count as a torn write',
    test: [format, table],
    edits: asTorn('return corrupt(`a batch that passes'),
  },
  {
    name: 'a later batch proves nothing',
    test: [format, table],
    edits: verdict('if (behind.later === undefined)', 'if (true)'),
  },
  {
    name: 'a later batch proves all missing ones except the first',
    test: [format, table],
    edits: verdict('behind.syncedThrough >= expectedBatch', 'behind.syncedThrough > expectedBatch'),
  },
  {
    name: 'a later batch proves batches that it says were not synced',
    test: [format, table],
    edits: verdict(
      'behind.syncedThrough >= expectedBatch',
      'behind.syncedThrough >= expectedBatch - 1',
    ),
  },
  {
    name: 'a body with missing sectors counts as ambiguous',
    test: [format, table],
    edits: verdict(
      "'torn-body': {\n        nothing: 'torn'",
      "'torn-body': {\n        nothing: 'doubtful'",
    ),
  },
  {
    name: 'a complete body counts as a torn write',
    test: [format, table],
    edits: verdict(
      "'bad-body': {\n        nothing: 'doubtful'",
      "'bad-body': {\n        nothing: 'torn'",
    ),
  },
  {
    name: 'a header with a wrong checksum counts as a torn write',
    test: [format, table],
    edits: verdict(
      "'bad-header': {\n        nothing: 'doubtful'",
      "'bad-header': {\n        nothing: 'torn'",
    ),
  },
  {
    name: 'a doubtful tail of a log of its own is cut',
    test: [format, table],
    edits: verdict("own: 'ambiguous'", "own: 'torn'"),
  },
  {
    name: 'a copy refuses a doubtful tail',
    test: [
      'packages/wal/test/shared-log-copy.test.ts',
      'an unsynced tail is cut wherever it is torn or damaged',
    ],
    edits: verdict("copy: 'torn'", "copy: 'ambiguous'"),
  },
]
