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
import { type TaskId, toTaskId } from './task-id.js'
import { type WaitOptions, waitFor } from './wait-for.js'

/** Connects a client. The README explains how a lost connection affects calls. */
export async function connect(
  options: LinkOptions,
  call: Pick<CallOptions, 'signal'> = {},
): Promise<Tenure> {
  return new Tenure(await openLink(options, call))
}

/** The application's interface to a coordinator. */
export class Tenure {
  readonly #link: Link

  constructor(link: Link) {
    this.#link = link
  }

  /** Resolves when the task is on the coordinator's disk. The payload is copied before this returns. */
  async submit(payload: Uint8Array, options: SubmitOptions = {}): Promise<Submitted> {
    checkSubmitOptions(options)
    const { signal, timeoutMs, retryLater = false } = options
    const request = toRequest(payload, options, this.#link.random)
    return submit(this.#link, request, { signal, timeoutMs, retryLater })
  }

  /** Submits tasks without waiting for each answer; yields the outcomes in input order. */
  submitMany(
    items: Iterable<Submission> | AsyncIterable<Submission>,
    options: SubmitManyOptions = {},
  ): AsyncGenerator<SubmitOutcome, void, undefined> {
    return submitMany(this.#link, items, options)
  }

  /** Returns the task with its attempts and its result. */
  async get(taskId: TaskId, options: CallOptions = {}): Promise<Task> {
    const request = { kind: 'get', taskId: toTaskId('taskId', taskId) } as const
    return readTask((await this.#query(request, 'task', options)).task)
  }

  /** Explains why the task is not running, or which worker runs it. */
  async why(taskId: TaskId, options: CallOptions = {}): Promise<Why> {
    const request = { kind: 'why', taskId: toTaskId('taskId', taskId) } as const
    return readWhy((await this.#query(request, 'why', options)).why)
  }

  /**
   * Reads the task's records from the coordinator's log, page by page. Records of a forgotten task are found
   * while they are in the log. An unknown task has no records.
   */
  async history(taskId: TaskId, options: HistoryOptions = {}): Promise<TaskHistory> {
    return readHistory(this.#link, toTaskId('taskId', taskId), options)
  }

  /** Lists tasks by id, and requests further pages while the caller iterates. */
  list(options: ListOptions = {}): AsyncGenerator<TaskSummary, void, undefined> {
    return listTasks(this.#link, options)
  }

  /** Ends a task as DEAD. `known` tells whether it was already DEAD. Requires the role `admin`. */
  async kill(taskId: TaskId, reason = '', options: CallOptions = {}): Promise<{ known: boolean }> {
    const why = check.text('reason', reason, 0, messageLimits.reasonBytesMax)
    const request = { kind: 'kill', taskId: toTaskId('taskId', taskId), reason: why } as const
    const { known } = await this.#query(request, 'killed', options)
    return { known }
  }

  /** Lists the known workers. `leftOut` is the number of workers that did not fit into the answer. */
  async workers(options: CallOptions = {}): Promise<WorkersInfo> {
    const { workers, leftOut } = await this.#query({ kind: 'workers' }, 'workers', options)
    return { workers: workers.map(readWorker), leftOut }
  }

  /** Returns counts and positions. A newer coordinator may return further fields. */
  async stats(options: CallOptions = {}): Promise<Stats> {
    return readStats((await this.#query({ kind: 'stats' }, 'stats', options)).stats)
  }

  /**
   * Makes a checkpoint of the coordinator's log, and resolves when it is written. This takes a while if there
   * are many tasks. Requires the role `admin`.
   */
  async checkpoint(options: CallOptions = {}): Promise<CheckpointInfo> {
    const request = { kind: 'checkpoint' } as const
    const answer = await this.#query(request, 'checkpointed', options, checkpointMsMax)
    return readCheckpoint(answer.checkpoint)
  }

  /** The round-trip time in milliseconds. */
  async ping(options: CallOptions = {}): Promise<number> {
    const { clock } = this.#link
    const sentAt = clock.monotonicMs()
    await this.#query({ kind: 'ping' }, 'pong', options)
    return clock.monotonicMs() - sentAt
  }

  /**
   * Resolves to the task when it is COMPLETED, FAILED or DEAD. Polls with growing intervals, and continues
   * while the coordinator is unreachable. Waits without limit unless `timeoutMs` is set.
   */
  async waitFor(taskId: TaskId, options: WaitOptions = {}): Promise<Task> {
    return waitFor(this.#link, toTaskId('taskId', taskId), options)
  }

  /** Rejects all pending calls with `CLIENT_CLOSED`. Resolves when the socket is closed. */
  close(): Promise<void> {
    return this.#link.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Sends an idempotent request, which may be sent again after a lost connection. */
  #query<K extends AnswerKind>(
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

/** Maximum duration of a checkpoint of millions of tasks on a slow disk. */
const checkpointMsMax = 600_000
