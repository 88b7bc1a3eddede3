import type { Bug, Sign } from './bug.js'

const log = 'packages/wal/dist/src'
const state = 'packages/state-machine/dist/src'

/** What was answered is not there when the power was lost right behind it. */
const lost: Sign = {
  check: 'nothing is answered before it is durable',
  message: /^LSN \d+ was answered, and after a power loss the log ends at LSN /,
}
/** The same, and the log notices it. */
const damaged: Sign = {
  check: 'nothing is answered before it is durable',
  message: /^after a power loss behind an answer: WalDamageError /,
}
/** Somebody read the log meanwhile. */
const surprisingDamage: Sign = {
  check: 'nothing comes as a surprise',
  message: /^WalDamageError /,
}
const lostForGood: Sign = { check: 'nothing acknowledged is lost' }
const notByRequestId =
  /STATE_BROKEN.*: task \d+ (is not found by its|has the hash of another) request_id/

/** Mistakes in what is kept, and in what is found again. */
export const logBugs: readonly Bug[] = [
  {
    name: 'answer before sync',
    what: 'a batch counts as durable when the operating system has it',
    edits: [
      {
        file: `${log}/recover/opening.js`,
        old: "settings.sync === 'always' ? 'durable' : 'write'",
        new: "'write'",
      },
    ],
    foundBy: [lost],
    seedsMax: 50,
  },
  {
    name: 'skip the directory sync',
    what: 'the name of a new segment is not on the medium when records are written to it',
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
    what: 'after a write that failed the file is synced once more, and that counts',
    edits: [
      {
        file: `${log}/write/writer.js`,
        old: `                this.fail(error);
                return;`,
        new: `                this.#watch(file.sync().then(() => this.#committed(batch, chain, startedMs, false)));
                return;`,
      },
    ],
    foundBy: [surprisingDamage, damaged, lost],
    seedsMax: 400,
  },
  {
    name: 'cut the log at a bad checksum',
    what: 'whatever cannot be read at the end is taken for a torn write',
    edits: [
      {
        file: `${log}/scan/verdict.js`,
        old: `    if (finding.kind === 'zero-header' ||
        (finding.kind === 'bad-body' && finding.unexplainedZeroSectors)) {`,
        new: '    if (true) {',
      },
    ],
    foundBy: [lost, lostForGood],
    seedsMax: 400,
  },
  {
    name: 'cut the log in its middle',
    what: 'a later batch does not prove that the ones before it were acknowledged',
    edits: [
      {
        file: `${log}/scan/verdict.js`,
        old: 'if (behind.syncedThrough >= expectedBatch) {',
        new: 'if (false) {',
      },
    ],
    foundBy: [lost, lostForGood],
    seedsMax: 400,
  },
  {
    name: 'reuse an LSN behind a torn tail',
    what: 'the number of the last record is given out again when something was cut off behind it',
    edits: [
      {
        file: `${log}/recover/opening.js`,
        old: ': end.lastLsn + 1,',
        new: ': examination.torn !== undefined && end.lastLsn > 0 ? end.lastLsn : end.lastLsn + 1,',
      },
    ],
    foundBy: [
      { check: 'only what fails makes it fail', message: /HISTORY_UNDECLARED_GAP/ },
      { check: 'what was decided stays so' },
    ],
    seedsMax: 400,
  },
  {
    name: 'the newer of two histories counts',
    what: 'what a writer has acknowledged that another one had superseded goes without a word',
    edits: [
      {
        file: `${log}/recover/examine.js`,
        old: `        this.#startAt(previous, next.firstBatch);
        this.#report({ ...place, why });`,
        new: '        this.#startAt(previous, next.firstBatch);',
      },
    ],
    foundBy: [{ check: 'of two coordinators neither loses anything unnoticed' }],
    seedsMax: 200,
  },
  {
    name: 'trust what a failed write left in the cache',
    what: 'the valid part of the last segment is not written again when a log is opened',
    edits: [
      {
        file: `${log}/recover/opening.js`,
        old: '        await rewrite(disk, layout, last.name, end.offset);\n',
        new: '',
      },
    ],
    foundBy: [damaged],
    seedsMax: 1000,
  },
  {
    name: 'a checkpoint that is not synced',
    what: 'segments are removed behind a checkpoint of which a power loss leaves the name',
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
    name: 'a checkpoint drops a live task',
    what: 'tasks that are LEASED are not in it',
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
      { check: 'nothing comes as a surprise', message: /: task must exist: / },
      { check: 'checkpoint and tail are what a replay gives' },
    ],
    seedsMax: 200,
  },
  {
    name: 'forget request ids at a restart',
    what: 'tasks that are restored from a checkpoint are not found by their request_id',
    edits: [
      {
        file: `${state}/snapshot/task-restorer.js`,
        old: 'byRequestId.add(row, hash);',
        // Not left out: removing what is not there would never end.
        new: 'byRequestId.add(row, (hash ^ 1) >>> 0);',
      },
    ],
    foundBy: [
      { check: 'the log is legal', message: /: request_id must not belong to another task$/ },
      { check: 'nothing is answered before it is durable', message: notByRequestId },
      { check: 'nothing comes as a surprise', message: notByRequestId },
    ],
    seedsMax: 400,
  },
  {
    name: 'a waiting order that changes at a restart',
    what: 'tasks that are restored from a checkpoint wait in the order in which they were created',
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
      { check: 'tasks are leased in their order' },
    ],
    seedsMax: 400,
  },
  {
    name: 'never look for room again',
    what: 'a log that once had no room for its next segment has none for ever',
    edits: [
      {
        file: `${log}/write/spare.js`,
        old: `            this.#setMode('preparing');
            this.#work = this.#make(wantedBytes);
        });`,
        new: '        });',
      },
    ],
    foundBy: [{ check: 'all work ends', message: /; [1-9]\d* calls open; the coordinator is up$/ }],
    seedsMax: 400,
  },
]
