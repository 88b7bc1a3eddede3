import { editOf, type Fault } from './fault.js'

const copies = 'packages/wal/test/shared-log-copy.test.ts'
const onlyCopies = 'a copy opens only as a copy of its own shared log'
const noOptions = 'a copy takes no options that would change what it contains'

const opening = editOf('wal', 'recover/prepare-log')
const writer = editOf('wal', 'write/writer')
const settings = editOf('wal', 'options')

/** Copies of a shared log. */
export const sharedCopyFaults: readonly Fault[] = [
  {
    name: 'a copy opens as a log of its own',
    test: [copies, onlyCopies],
    edits: opening('copyOf === undefined && era !== 0', 'false'),
  },
  {
    name: 'a log of its own opens as a copy',
    test: [copies, onlyCopies],
    edits: opening('if (era === expectedEra &&', 'if ((era === 0 || era === expectedEra) &&'),
  },
  {
    name: 'another era of a shared log is accepted',
    test: [copies, onlyCopies],
    edits: opening('if (era === expectedEra &&', 'if ((era !== 0 || era === expectedEra) &&'),
  },
  {
    name: 'another shared log is accepted',
    test: [copies, onlyCopies],
    edits: opening('bytesEqual(logId, copyOf.logId)', 'true'),
  },
  {
    name: 'a copy accepts a loss',
    test: [copies, noOptions],
    edits: settings('const given = { acceptLoss, restored };', 'const given = { restored };'),
  },
  {
    name: 'a detached copy continues without a gap',
    test: [copies, 'a detached copy is a log of its own behind a declared gap'],
    edits: editOf('wal', 'copy/shared-log-copy')(
      'const restored = nextLsn === undefined ? true : { nextLsn };',
      'const restored = undefined;',
    ),
  },
  {
    name: 'an epoch of the shared log begins no segment',
    test: [copies, "a reader learns the shared log's epochs, not the openings of the copy"],
    edits: writer('&& sharedEpoch === this.#tail.sharedEpoch', ''),
  },
  {
    name: 'a restored copy stays a copy',
    test: [copies, 'a restored backup of a copy is a log of its own'],
    edits: opening('settings.copyOf?.era ?? 0', 'settings.copyOf?.era ?? examination.era'),
  },
  {
    name: 'a copy is synced later than after 100 ms',
    test: [copies, 'what a copy has for 100 ms survives a power loss'],
    edits: writer('clock.setTimer(syncIntervalMs,', 'clock.setTimer(syncIntervalMs + 1,'),
  },
  {
    name: 'a copy can be set to sync later than after 100 ms',
    test: [copies, noOptions],
    edits: settings('if (syncIntervalMs > copySyncMsMax)', 'if (false)'),
  },
]
