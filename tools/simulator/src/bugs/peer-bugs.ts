import type { Bug } from './bug.js'

const worker = 'packages/worker-runtime/dist/src'
const client = 'packages/client/dist/src'

/** Mistakes in workers and clients. */
export const peerBugs: readonly Bug[] = [
  {
    name: 'count a lease from its arrival',
    what: 'a worker counts its lease from the arrival of the answer, not from its request',
    edits: [
      {
        file: `${worker}/polling/polls.js`,
        old: 'this.#take(outcome, sentAtMs);',
        new: 'this.#take(outcome, link.clock.monotonicMs());',
      },
    ],
    foundBy: [{ check: 'a task has one owner' }],
    seedsMax: 1000,
  },
  {
    name: 'work on without a lease',
    what: 'a worker does not end its handler after the deadline',
    edits: [
      {
        file: `${worker}/attempt/execution.js`,
        old: `        if (this.#isOverdue) {
            this.#passDeadline();
            return;
        }
`,
        new: '',
      },
      {
        file: `${worker}/attempt/execution.js`,
        old: 'Math.min(this.#authority.deadlineMs, this.#heartbeatAtMs, this.#windowAbortAtMs)',
        new: 'Math.min(this.#heartbeatAtMs, this.#windowAbortAtMs)',
      },
    ],
    foundBy: [{ check: 'a task has one owner' }],
    seedsMax: 400,
  },
  {
    name: 'give up a sent poll',
    what: 'a request that was sent before its connection broke is neither repeated nor ended',
    edits: [
      {
        file: `${client}/link/link.js`,
        old: `        for (const request of this.#table.connectionLost())
            request.settle(lost(error, request));
        this.#settings.observer.disconnected?.(error);`,
        new: `        this.#table.connectionLost();
        this.#settings.observer.disconnected?.(error);`,
      },
    ],
    foundBy: [
      { check: 'all work ends', message: / is WAITING; 0 calls open; the coordinator is up$/ },
    ],
    seedsMax: 400,
  },
]
