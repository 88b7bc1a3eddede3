import type { Bug, Sign } from './bug.js'

const log = 'packages/wal/dist/src'
const state = 'packages/state-machine/dist/src'

/** An answered record is gone after a power loss directly after its answer. */
const lost: Sign = {
  check: 'nothing is answered before it is durable',
  message: /^LSN \d+ was answered, but after a power loss the log ends at LSN /,
}
/** An answered record is gone, and the log reports damage. */
const damaged: Sign = {
  check: 'nothing is answered before it is durable',
  message: /^after a power loss directly after an answer: WalDamageError /,
}
/** The log was read meanwhile and found damaged. */
const surprisingDamage: Sign = {
  check: 'no unexpected error occurs',
  message: /^WalDamageError /,
}
/** The log was found damaged by the next life. */
const refusedStart: Sign = {
  check: 'every failure follows from a planned fault',
  message: /^the start failed: WalDamageError /,
}
const lostForGood: Sign = { check: 'nothing acknowledged is lost' }
const notByRequestId =
  /STATE_BROKEN.*: task \d+ (is not found by its|has the hash of another) request_id/

/** Mistakes in writing the log and in recovering from it. */
export const logBugs: readonly Bug[] = [
  {
    name: 'answer before sync',
    what: 'a batch counts as durable as soon as the operating system has it',
    edits: [
      {
        file: `${log}/recover/prepare-log.js`,
        old: "settings.sync === 'always' ? 'durable' : 'write'",
        new: "'write'",
      },
    ],
    foundBy: [lost],
    seedsMax: 50,
  },
  {
    name: 'skip the directory sync',
    what: 'records are written to a new segment whose name is not yet on the disk',
    edits: [
      {
        file: `${log}/write/segment-file.js`,
        old: 'await disk.syncDirectory(layout.segments);',
        new: '',
      },
    ],
    foundBy: [damaged],
    seedsMax: 50,
  },
  {
    name: 'retry a failed sync',
    what: 'after a failed sync the file is synced again, and that counts as success',
    edits: [
      {
        file: `${log}/write/writer.js`,
        old: `                this.fail(error);
                return;`,
        new: `                this.#watch(file.sync().then(() => this.#committed(batch, sealed, startedMs, false)));
                return;`,
      },
    ],
    foundBy: [surprisingDamage, damaged, lost],
    seedsMax: 400,
  },
  {
    name: 'cut the log at a bad checksum',
    what: 'everything unreadable at the end is treated as a torn write',
    edits: [
      {
        file: `${log}/scan/verdict.js`,
        old: "judgement === 'doubtful' ? doubtful[logKind] : judgement",
        new: "judgement === 'clean' ? 'clean' : 'torn'",
      },
    ],
    foundBy: [lost, lostForGood],
    seedsMax: 400,
  },
  {
    name: 'cut the log in its middle',
    what: 'a later batch does not prove that the earlier ones were acknowledged',
    edits: [
      {
        file: `${log}/scan/verdict.js`,
        old: 'behind.syncedThrough >= expectedBatch ?',
        new: 'false ?',
      },
    ],
    foundBy: [lost, lostForGood],
    seedsMax: 400,
  },
  {
    name: 'reuse an LSN after a torn tail',
    what: 'the last LSN is issued again if a torn write after it was cut off',
    edits: [
      {
        file: `${log}/recover/prepare-log.js`,
        old: ': end.lastLsn + 1,',
        new: ': examination.torn !== undefined && end.lastLsn > 0 ? end.lastLsn : end.lastLsn + 1,',
      },
    ],
    foundBy: [
      { check: 'every failure follows from a planned fault', message: /HISTORY_UNDECLARED_GAP/ },
      { check: 'a written record never changes' },
    ],
    seedsMax: 400,
  },
  {
    name: 'accept the newer of two histories',
    what: 'records that a superseded writer acknowledged are dropped silently',
    edits: [
      {
        file: `${log}/recover/examine.js`,
        old: `        this.#startAt(previous, next.firstBatch);
        this.#report({ ...place, why });`,
        new: '        this.#startAt(previous, next.firstBatch);',
      },
    ],
    foundBy: [{ check: 'two coordinators lose nothing silently' }],
    seedsMax: 200,
  },
  {
    name: 'trust what a failed write left in the cache',
    what: 'opening a log does not rewrite the valid part of the last segment',
    edits: [
      {
        file: `${log}/recover/prepare-log.js`,
        old: '        await rewrite(disk, layout, last.name, end.offset);\n',
        new: '',
      },
    ],
    foundBy: [damaged],
    seedsMax: 1000,
  },
  {
    name: 'use a file before its removal is durable',
    what: 'a segment that comes back after a power loss has lost its header',
    edits: [
      {
        file: `${log}/log.js`,
        old: `            this.#sealed.shift();
            await disk.syncDirectory(this.#layout.segments);`,
        new: '            this.#sealed.shift();',
      },
    ],
    foundBy: [damaged, surprisingDamage],
    seedsMax: 400,
  },
  {
    name: 'do not clear the header of a used file',
    what: 'a file that was a segment gets the name of another one with its old header',
    edits: [
      {
        file: `${log}/write/segment-file.js`,
        old: 'await writeFully(file, new Uint8Array(fileHeaderBytes), 0);',
        new: '',
      },
    ],
    foundBy: [{ check: 'only damaged files are quarantined' }],
    seedsMax: 400,
  },
  {
    name: 'take old content for new',
    what: 'neither the checksum of a batch nor a stamp depends on the life of the file',
    edits: [
      {
        file: `${log}/format/batch.js`,
        old: 'this.#view.setUint32(16, life, true);',
        new: '',
      },
      {
        file: `${log}/format/stamps.js`,
        old: "life === this.life ? 'written' : 'unwritten'",
        new: "'written'",
      },
    ],
    foundBy: [damaged, surprisingDamage, refusedStart],
    seedsMax: 400,
  },
  {
    name: 'use a checkpoint that is not synced',
    what: 'segments are removed after a checkpoint that a power loss can empty',
    edits: [
      {
        file: `${log}/checkpoint/checkpoint.js`,
        old: `        await add(undefined);
        await file.sync();`,
        new: '        await add(undefined);',
      },
    ],
    foundBy: [damaged],
    seedsMax: 400,
  },
  {
    name: 'drop live tasks from a checkpoint',
    what: 'LEASED tasks are missing from the checkpoint',
    edits: [
      {
        file: `${state}/snapshot/state-codec.js`,
        old: 'yield [stateVersion, lastLsn, lastAt, tasks.size, counts];',
        new: 'let count = 0; for (const row of tasks.rows()) if (tasks.state.get(row) !== states.LEASED) count++; yield [stateVersion, lastLsn, lastAt, count, counts];',
      },
      {
        file: `${state}/snapshot/state-codec.js`,
        old: 'const lives = tasks.state.get(row) <= states.LEASED;',
        new: 'const lives = tasks.state.get(row) < states.LEASED;',
      },
    ],
    foundBy: [
      { check: 'no unexpected error occurs', message: /: task must exist: / },
      { check: 'checkpoint and tail match a full replay' },
    ],
    seedsMax: 200,
  },
  {
    name: 'forget request ids at a restart',
    what: 'tasks restored from a checkpoint are not found by their request_id',
    edits: [
      {
        file: `${state}/snapshot/task-restorer.js`,
        old: 'byRequestId.add(row, hash);',
        // Not left out: removing a missing entry would never end.
        new: 'byRequestId.add(row, (hash ^ 1) >>> 0);',
      },
    ],
    foundBy: [
      { check: 'the log is legal', message: /: request_id must not belong to another task$/ },
      { check: 'nothing is answered before it is durable', message: notByRequestId },
      { check: 'no unexpected error occurs', message: notByRequestId },
    ],
    seedsMax: 400,
  },
  {
    name: 'change the waiting order at a restart',
    what: 'tasks restored from a checkpoint wait in the order of their creation',
    edits: [
      {
        file: `${state}/snapshot/task-restorer.js`,
        old: 'tasks.due.set(row, due);',
        new: 'tasks.due.set(row, state === states.WAITING ? tasks.createdAt.get(row) : due);',
      },
    ],
    foundBy: [
      {
        check: 'nothing is answered before it is durable',
        message: /STATE_BROKEN.*: task \d+: is due at /,
      },
      { check: 'tasks are leased in order' },
    ],
    seedsMax: 400,
  },
  {
    name: 'never check for free space again',
    what: 'a log that once had no space for its next segment never tries again',
    edits: [
      {
        file: `${log}/write/spare.js`,
        old: `            this.#setMode('preparing');
            this.#work = this.#make(next);
        });`,
        new: '        });',
      },
    ],
    foundBy: [{ check: 'all work ends', message: /; [1-9]\d* calls open; the coordinator is up$/ }],
    seedsMax: 400,
  },
]
