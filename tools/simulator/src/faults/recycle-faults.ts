import { editOf, type Fault } from './fault.js'

const recycle = 'packages/wal/test/recycle.test.ts'
const format = 'packages/wal/test/format.test.ts'
const bound = 'a batch counts only in its log, its kind of file, its life and its place'
const stamped = 'a stamp counts only in its log, its life and its place, and with its check'

const log = editOf('wal', 'log')
const opening = editOf('wal', 'recover/prepare-log')
const examining = editOf('wal', 'recover/examine')
const scanner = editOf('wal', 'scan/scanner')
const batch = editOf('wal', 'format/batch')
const stamps = editOf('wal', 'format/stamps')
const segmentFile = editOf('wal', 'write/segment-file')
const keeper = editOf('wal', 'write/spare')
const pool = editOf('wal', 'write/spare-pool')

/** Files that are used again, and the stamps that tell their lives apart. */
export const recycleFaults: readonly Fault[] = [
  {
    name: 'a used file is not cleared before it gets the name of a segment',
    test: [recycle, 'a recycled file is durably cleared before it has the name of a segment'],
    edits: segmentFile('await writeFully(file, new Uint8Array(fileHeaderBytes), 0);', ''),
  },
  {
    name: 'a file is used again before its removal is durable',
    test: [recycle, 'a file is used again only after its removal is durable'],
    edits: log(
      'this.#sealed.shift();\n            await disk.syncDirectory(this.#layout.segments);',
      `this.#sealed.shift();
            if (spare !== undefined) this.#spares.add(spare);
            await disk.syncDirectory(this.#layout.segments);
            if (spare !== undefined) continue;`,
    ),
  },
  {
    name: 'the life in a stamp is not compared',
    test: [format, stamped],
    edits: stamps("life === this.life ? 'written' : 'unwritten'", "'written'"),
  },
  {
    name: 'the check in a stamp is not compared',
    test: [format, stamped],
    edits: stamps('if (check === this.#checkOf(life, fileOffset + at))', 'if (life !== 0)'),
  },
  {
    name: 'a batch of an earlier life counts',
    test: [format, bound],
    edits: batch('this.#view.setUint32(16, life, true);', ''),
  },
  {
    name: 'a batch of a checkpoint counts as one of a segment',
    test: [recycle, 'a diagnosis takes no checkpoint for a segment'],
    edits: batch("kind === 'checkpoint' ? 1 : 0", '0'),
  },
  {
    name: 'a diagnosis finds batches of an earlier segment',
    test: [recycle, 'a diagnosis finds no batch of an earlier segment'],
    edits: editOf('wal', 'inspect/diagnosis')('batch.header.firstLsn > this.lastLsn', 'true'),
  },
  {
    name: 'a file that HEAD does not name yet gives its name to a new segment',
    test: [recycle, 'a file that HEAD does not name yet never takes the place of a new segment'],
    edits: examining('[...unreadable, ...foreign]', 'unreadable'),
  },
  {
    name: 'the recorded end of another copy counts as a place in this log',
    test: [
      'packages/wal/test/damage.test.ts',
      'a segment of another copy of the log can be accepted as lost',
    ],
    edits: examining('if (isCommon)', 'if (true)'),
  },
  {
    name: 'a sector of an earlier life counts as written',
    test: [
      recycle,
      'a last batch over old content is there completely or not at all, whichever sectors arrive',
    ],
    edits: scanner(
      "if (this.#place.stamps.stateOf(sector, offset) === 'unwritten')\n                return true;",
      'if (isZero(sector))\n                return true;',
    ),
  },
  {
    name: 'displaced bytes are not restored',
    test: [format, 'a record that reaches over stamps reads as it was written'],
    edits: scanner('this.#place.stamps.restore(written, offset, header.bodyBytes);', ''),
  },
  {
    name: 'the quarantine contains sectors of an earlier life',
    test: [recycle, 'what is cut off contains nothing of an earlier segment'],
    edits: opening("isEmpty || stamps.stateOf(sector, offset) === 'unwritten'", 'isEmpty'),
  },
  {
    name: 'a replay does not look whether the file was used again',
    test: [recycle, 'a replay of the open log never returns records of another segment'],
    edits: editOf('wal', 'scan/record-range')('await refuseReused(file, name, header);', ''),
  },
  {
    name: 'a reader does not look whether the file was used again',
    test: [recycle, 'a replay by another process never returns records of another segment'],
    edits: editOf('wal', 'log-reader')(
      'await refuseReused(file, segment.name, segment.header);',
      '',
    ),
  },
  {
    name: 'a backup does not look whether the file was used again',
    test: [recycle, 'without pins, a backup notices that a file was used again'],
    edits: editOf('wal', 'copy/copy-log')('await refuseReused(file, name, header);', ''),
  },
  {
    name: 'a pinned file is used again',
    test: [recycle, 'a pinned file is removed instead of used again'],
    edits: keeper('!(await this.#disk.isPinned(path))', 'true'),
  },
  {
    name: 'spares are kept without limit',
    test: [recycle, 'a truncation keeps as many files as the log has used since the last one'],
    edits: keeper('this.#pool.count < Math.min(spareFilesMax, this.#taken)', 'true'),
  },
  {
    name: 'spares are not given back on a disk that is short of space',
    test: [recycle, 'spares are given back when the disk gets short of space'],
    edits: keeper('await this.#pool.shrink(1);', ';'),
  },
  {
    name: 'a truncation on a full disk does not wake the keeper',
    test: [recycle, 'with spares the log is not short of space until it uses the last one'],
    edits: keeper("if (this.#mode !== 'starved' || next === undefined)", 'if (true)'),
  },
  {
    name: 'a spare is overwritten by a segment of the same number',
    test: [recycle, 'a spare that has the number of a segment is not overwritten'],
    edits: pool('return isUsed ?', 'return false ?'),
  },
  {
    name: 'an open removes a spare that has its name already',
    test: [recycle, 'an open that was interrupted while it renamed spares is repeated'],
    edits: pool('.sort().reverse()', '.sort()'),
  },
  {
    name: 'a HEAD of another epoch is accepted',
    test: [
      'packages/wal/test/open.test.ts',
      'a HEAD that names another epoch of the newest segment is damage',
    ],
    edits: editOf('wal', 'recover/lineage')('last.epoch !== head.epoch', 'false'),
  },
  {
    name: 'an unreadable file that HEAD does not name yet is damage',
    test: [recycle, 'a file that HEAD does not name yet is no damage, whatever it contains'],
    edits: examining('...inventory.unreadable.filter(hasBegun),', '...inventory.unreadable,'),
  },
]
