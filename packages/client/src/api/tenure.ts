import { type AnswerKind, messageLimits, type NewRequest } from '@tenure/protocol'
import { check } from '../errors.js'
import { type CallOptions, checkCallOptions } from '../link/limit.js'
import { type Link, openLink } from '../link/link.js'
import type { LinkOptions } from '../link/options.js'
import { demand } from './demand.js'
import {
  type CheckpointInfo,
  readCheckpoint,
  readStats,
  readTask,
  readWhy,
  readWorker,
  type Stats,
  type Task,
  type TaskSummary,
  type Why,
  type WorkersInfo,
} from './facts.js'
import { type HistoryOptions, readHistory, type TaskHistory } from './history.js'
import { type ListOptions, listTasks } from './list.js'
import { checkSubmitOptions, type Submission, type SubmitOptions, toRequest } from './submission.js'
import {
  type SubmitManyOptions,
  type SubmitOutcome,
  type Submitted,
  submit,
  submitMany,
} from './submit.js'
import { type WaitOptions, waitFor } from './wait-for.js'

/** A client, with the first connection made. What a lost connection does to a call is said in the README. */
export async function connect(
  options: LinkOptions,
  call: Pick<CallOptions, 'signal'> = {},
): Promise<Tenure> {
  return new Tenure(await openLink(options, call))
}

/** What an application asks of a coordinator, over a link that is open. */
export class Tenure {
  readonly #link: Link

  constructor(link: Link) {
    this.#link = link
  }

  /** Settles when the task is on the coordinator's disk. The payload is copied at once. */
  async submit(payload: Uint8Array, options: SubmitOptions = {}): Promise<Submitted> {
    checkSubmitOptions(options)
    const { signal, timeoutMs, retryLater = false } = options
    const request = toRequest(payload, options, this.#link.random)
    return submit(this.#link, request, { signal, timeoutMs, retryLater })
  }

  /** Submits one after the other without waiting for answers; outcomes come in the order of the items. */
  submitMany(
    items: Iterable<Submission> | AsyncIterable<Submission>,
    options: SubmitManyOptions = {},
  ): AsyncGenerator<SubmitOutcome, void, undefined> {
    return submitMany(this.#link, items, options)
  }

  /** The task, with its attempts and its result. */
  async get(taskId: number, options: CallOptions = {}): Promise<Task> {
    const request = { kind: 'get', taskId: checkTaskId(taskId) } as const
    return readTask((await this.#question(request, 'task', options)).task)
  }

  /** Why the task is not running now, or who runs it. */
  async why(taskId: number, options: CallOptions = {}): Promise<Why> {
    const request = { kind: 'why', taskId: checkTaskId(taskId) } as const
    return readWhy((await this.#question(request, 'why', options)).why)
  }

  /**
   * What the log holds about the task, read from the coordinator's disk page by page: of a task that
   * is forgotten, too, while its records are there. None when it never existed.
   */
  async history(taskId: number, options: HistoryOptions = {}): Promise<TaskHistory> {
    return readHistory(this.#link, checkTaskId(taskId), options)
  }

  /** Tasks in the order of their ids, asked for page by page as they are taken. */
  list(options: ListOptions = {}): AsyncGenerator<TaskSummary, void, undefined> {
    return listTasks(this.#link, options)
  }

  /** Stops a task for good. `known`: it was DEAD before. Only an `admin` may. */
  async kill(taskId: number, reason = '', options: CallOptions = {}): Promise<{ known: boolean }> {
    const why = check.text('reason', reason, 0, messageLimits.reasonBytesMax)
    const request = { kind: 'kill', taskId: checkTaskId(taskId), reason: why } as const
    const { known } = await this.#question(request, 'killed', options)
    return { known }
  }

  /** Who is there; of thousands not all fit in an answer, and `leftOut` says how many did not. */
  async workers(options: CallOptions = {}): Promise<WorkersInfo> {
    const { workers, leftOut } = await this.#question({ kind: 'workers' }, 'workers', options)
    return { workers: workers.map(readWorker), leftOut }
  }

  /** Counts and positions, by name; there may be more of them in a newer coordinator. */
  async stats(options: CallOptions = {}): Promise<Stats> {
    return readStats((await this.#question({ kind: 'stats' }, 'stats', options)).stats)
  }

  /**
   * A checkpoint of the coordinator's log, when it is made, which takes a while where there are many
   * tasks. Only an `admin` may.
   */
  async checkpoint(options: CallOptions = {}): Promise<CheckpointInfo> {
    const request = { kind: 'checkpoint' } as const
    const answer = await this.#question(request, 'checkpointed', options, checkpointMsMax)
    return readCheckpoint(answer.checkpoint)
  }

  /** Milliseconds there and back. */
  async ping(options: CallOptions = {}): Promise<number> {
    const { clock } = this.#link
    const sentAt = clock.monotonicMs()
    await this.#question({ kind: 'ping' }, 'pong', options)
    return clock.monotonicMs() - sentAt
  }

  /**
   * Settles with the task when it is COMPLETED, FAILED or DEAD. It polls with growing pauses, also
   * while the coordinator is away. Without `timeoutMs` it waits for as long as it takes.
   */
  async waitFor(taskId: number, options: WaitOptions = {}): Promise<Task> {
    return waitFor(this.#link, checkTaskId(taskId), options)
  }

  /** Everything that waits is rejected with `CLIENT_CLOSED`. Settles when the socket is closed. */
  close(): Promise<void> {
    return this.#link.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Asking twice does nothing twice: a kill, too, is the same however often it is asked for. */
  #question<K extends AnswerKind>(
    request: NewRequest,
    kind: K,
    options: CallOptions,
    timeoutMsDefault?: number,
  ) {
    checkCallOptions(options)
    const { signal, timeoutMs = timeoutMsDefault } = options
    return demand(this.#link, request, kind, { signal, timeoutMs, retry: true })
  }
}

/** How long a checkpoint of millions of tasks may take on a slow disk. */
const checkpointMsMax = 600_000

function checkTaskId(taskId: unknown): number {
  return check.whole('taskId', taskId, 1, Number.MAX_SAFE_INTEGER)
}
