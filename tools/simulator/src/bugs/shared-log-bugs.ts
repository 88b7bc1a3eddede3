import type { Bug } from './bug.js'

const replica = 'packages/coordinator-server/dist/src/replica/replica.js'
const time = 'packages/coordinator-server/dist/src/replica/replica-time.js'
const confirmation = 'packages/coordinator-server/dist/src/core/confirmation.js'

/** Mistakes of a coordinator among several on a shared log. */
export const sharedLogBugs: readonly Bug[] = [
  {
    name: 'answer without a confirmation',
    what: 'a deposed coordinator answers from its old state',
    edits: [
      {
        file: confirmation,
        old: 'return !unconfirmedReasons.has(answer.reason);',
        new: 'return false;',
      },
      {
        file: confirmation,
        old: "return answer.kind !== 'pong' && answer.kind !== 'withdrawn';",
        new: 'return false;',
      },
    ],
    foundBy: [{ check: 'every answer matches the log' }],
    seedsMax: 1000,
    log: 'shared',
  },
  {
    name: 'send an entry before the last one is stored',
    what: 'entries are sent ahead, each for the place after the one before',
    edits: [
      {
        file: replica,
        old: 'const outcome = await shared.append(this.#seq, bytes, isMine);',
        new: "if (kind === 'records') { void shared.append(this.#seq, bytes, isMine); }\n            const outcome = kind === 'records' ? 'stored' : await shared.append(this.#seq, bytes, isMine);",
      },
    ],
    foundBy: [
      { check: 'a coordinator decides by the shared log' },
      { check: 'the shared log is legal' },
      { check: 'every answer matches the log' },
    ],
    seedsMax: 100,
    log: 'shared',
  },
  {
    name: 'take over at the time of the wall clock',
    what: 'a standby counts an entry as received at its own wall clock',
    edits: [
      {
        file: time,
        old: 'this.#entryMs = isLive ? clockMs : Math.max(clockMs, this.#clock.now());',
        new: 'this.#entryMs = Math.max(clockMs, this.#clock.now());',
      },
    ],
    foundBy: [{ check: 'a take-over moves no time' }],
    seedsMax: 400,
    log: 'shared',
  },
  {
    name: 'extend leases over the silence',
    what: 'the time of the silence does not count for a successor',
    edits: [
      {
        file: time,
        old: 'const nowMs = this.now();',
        new: 'const nowMs = this.#entryMs;',
      },
    ],
    foundBy: [{ check: 'a take-over moves no time' }],
    seedsMax: 100,
    log: 'shared',
  },
  {
    name: 'begin a restarted coordinator without the last time',
    what: 'a coordinator that has nothing to read begins its decision time anew',
    edits: [{ file: replica, old: 'time.note(clockMs, false);', new: '' }],
    foundBy: [
      { check: 'the shared log is legal', message: /its clock is \d+ ms back/ },
      { check: 'a take-over moves no time' },
    ],
    seedsMax: 100,
    log: 'shared',
  },
  {
    name: 'lead without reading to the end',
    what: 'a standby sends its epoch entry for the last place, whatever it has read',
    edits: [
      {
        file: replica,
        old: `        if (last > this.#seq)
            return false;`,
        new: '        this.#seq = last;',
      },
    ],
    foundBy: [
      { check: 'the shared log is legal' },
      { check: 'a coordinator decides by the shared log' },
    ],
    seedsMax: 400,
    log: 'shared',
  },
  {
    name: 'take the silence of an engine for that of a leader',
    what: 'an engine that does not answer counts as one with nothing new',
    edits: [
      {
        file: replica,
        old: `        const last = await this.#lastSeq();
        this.#heardMs = clock.monotonicMs();
        if (last === undefined)
            return false;`,
        new: `        const last = (await this.#lastSeq()) ?? this.#seq;
        this.#heardMs = clock.monotonicMs();`,
      },
    ],
    foundBy: [{ check: 'only silence deposes a coordinator' }],
    seedsMax: 400,
    log: 'shared',
  },
  {
    name: 'take over without a silence',
    what: 'a standby takes over when it has read everything',
    edits: [
      { file: replica, old: 'const leftMs = ttlMs - this.silentMs;', new: 'const leftMs = 0;' },
    ],
    foundBy: [
      { check: 'a take-over moves no time' },
      { check: 'only silence deposes a coordinator' },
    ],
    seedsMax: 100,
    log: 'shared',
  },
  {
    name: 'take over without a comparison of copies',
    what: 'a standby does not notice that other copies have what the engine has lost',
    edits: [
      {
        file: replica,
        old: 'for (const { seq, chain } of [this.end, ...copies]) {',
        new: 'for (const { seq, chain } of [this.end]) {',
      },
    ],
    foundBy: [{ check: 'a lost entry is noticed' }],
    seedsMax: 2000,
    log: 'shared',
  },
  {
    name: 'go on at a place that is gone',
    what: 'an engine that has lost entries is taken for one with another leader',
    edits: [
      { file: replica, old: 'if (seq > last) {', new: 'if (false) {' },
      {
        file: replica,
        old: 'if (last > this.#seq)',
        new: 'if (last !== this.#seq) this.#seq = Math.min(last, this.#seq);\n        if (last > this.#seq)',
      },
    ],
    foundBy: [{ check: 'a lost entry is noticed' }],
    seedsMax: 1000,
    log: 'shared',
  },
  {
    name: 'answer before the entry is stored',
    what: 'a record counts as durable when its entry is sent',
    edits: [
      {
        file: replica,
        old: "const kind = entry.records.length === 0 ? 'empty' : 'records';",
        new: "const kind = entry.records.length === 0 ? 'empty' : 'records';\n            entry.resolve(entry.lastLsn);",
      },
    ],
    foundBy: [{ check: 'a coordinator decides by the shared log' }],
    seedsMax: 100,
    log: 'shared',
  },
  {
    name: 'copy an entry before it is stored',
    what: 'the copy gets ahead of the shared log',
    edits: [
      {
        file: replica,
        old: "const kind = entry.records.length === 0 ? 'empty' : 'records';",
        new: "const kind = entry.records.length === 0 ? 'empty' : 'records';\n            this.#addToCopy(entry.firstLsn, entry.records);",
      },
      {
        file: replica,
        old: '        this.#durableLsn = entry.lastLsn;\n        this.#addToCopy(entry.firstLsn, entry.records);',
        new: '        this.#durableLsn = entry.lastLsn;',
      },
    ],
    foundBy: [
      { check: 'a copy is a beginning of the shared log' },
      { check: 'a written record never changes' },
    ],
    seedsMax: 1000,
    log: 'shared',
  },
  {
    name: 'go on after being overtaken',
    what: 'a deposed coordinator sends its entry again, behind that of its successor',
    edits: [
      {
        file: replica,
        old: "if (outcome === 'overtaken')\n                return 'overtaken';",
        new: "if (outcome === 'overtaken') {\n                if (kind === 'epoch' || kind === 'resign')\n                    return 'overtaken';\n                this.#seq = (await shared.range()).last;\n                continue;\n            }",
      },
    ],
    foundBy: [{ check: 'the shared log is legal' }],
    seedsMax: 400,
    log: 'shared',
  },
]
