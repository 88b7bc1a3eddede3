import { editOf, type Fault } from './fault.js'

const replicas = 'packages/coordinator-server/test/replica.test.ts'
const checkpoints = 'packages/coordinator-server/test/engine-checkpoints.test.ts'
const strangers = 'entries of strangers, and damaged ones, stop every node by name'
const otherState = 'a checkpoint of another state removes nothing, and stops the standby'
const olderOfTwo =
  'the leader truncates through the older of two checkpoints, and a new node begins with one'

const replica = editOf('coordinator-server', 'replica/replica')
const time = editOf('coordinator-server', 'replica/replica-time')
const keeper = editOf('coordinator-server', 'replica/engine-checkpoints')

/** A coordinator on a shared log: what no simulated engine or disk does, or only rarely. */
export const sharedLogFaults: readonly Fault[] = [
  {
    name: 'a follower does not check the chain',
    test: [replicas, strangers],
    edits: replica('this.#chain !== undefined && entry.chain !== this.#chain', 'false'),
  },
  {
    name: 'a follower accepts another log',
    test: [replicas, strangers],
    edits: replica('entry.logId !== logId || entry.era !== era', 'false'),
  },
  {
    name: 'claims ignore the space of the shared log',
    test: [replicas, 'a full shared log refuses new tasks first, and goes on later'],
    edits: replica('used + bytes > bytesMax * (1 - shareKeptBack[urgency])', 'false'),
  },
  {
    name: 'a coordinator resigns before everything is stored',
    test: [replicas, 'a resignation comes after everything else'],
    edits: replica('while (!this.#outgoing.isEmpty)', 'while (false)'),
  },
  {
    name: 'a leader catches up faster than a worker allows for',
    test: [replicas, 'a leader that is behind catches up more slowly than a worker allows for'],
    edits: time('const catchUpRate = 0.001;', 'const catchUpRate = 0.02;'),
  },
  {
    name: 'the shared log is truncated at a single checkpoint',
    test: [checkpoints, olderOfTwo],
    edits: keeper(
      `else if (older !== undefined)
            await this.#truncate(range, newest, older);`,
      `else if (newest > 0)
            await this.#truncate(range, newest, older ?? newest);`,
    ),
  },
  {
    name: 'the shared log is truncated at a checkpoint of another state',
    test: [checkpoints, otherState],
    edits: keeper(
      'if (!(await this.#isEqual(newest)) || !(await this.#isEqual(older)))',
      'if (false)',
    ),
  },
  {
    name: 'a standby of another state goes on',
    test: [checkpoints, otherState],
    edits: keeper('if ((await this.#isEqual(lsn)) !== false)', 'if (true)'),
  },
  {
    name: 'a forgotten state ends the coordinator',
    test: [
      checkpoints,
      'a checkpoint older than the own history proves nothing, and stops no coordinator',
    ],
    edits: keeper("error.code === 'WAL_FORGOTTEN'", 'false'),
  },
]
