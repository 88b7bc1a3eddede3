import type { Answer, History } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import { getLeaseIds } from '@tenure/state-machine/internal'
import type { HistoryQuery, HistoryReader } from '../history/history-page.js'
import { rejected } from '../refusals.js'
import { HistoryQueue } from './history-queue.js'
import { answerQuery, type Query } from './queries.js'
import { QueryQueue } from './query-queue.js'
import { pageBytes, type QuerySources } from './query-sources.js'

/** A query with its connection and its reply callback. */
export interface PendingQuery {
  readonly session: object
  readonly request: Query
  answer(answer: Answer): void
}

/** Further inputs of queries. */
interface Dependencies {
  readonly clock: Clock
  readonly log: { readonly durableLsn: number }
  readonly history?: HistoryReader | undefined
}

/** The coordinator counts as busy for this long after a request that is not a query. */
const busyMs = 10

/** Queries that are not yet answered. Other work has priority. */
export class PendingQueries {
  readonly #sources: QuerySources
  readonly #means: Dependencies
  readonly #queue: QueryQueue<PendingQuery>
  readonly #histories: HistoryQueue
  #workedAtMs = Number.NEGATIVE_INFINITY
  #isStopping = false

  constructor(sources: QuerySources, means: Dependencies) {
    const { clock, history } = means
    this.#sources = sources
    this.#means = means
    this.#queue = new QueryQueue(
      clock,
      () => clock.monotonicMs() - this.#workedAtMs < busyMs,
      (query) => this.#answer(query),
    )
    this.#histories = new HistoryQueue(history, (request) => this.#historyQuery(request))
  }

  add(query: PendingQuery): void {
    this.#queue.add(query.session, query)
  }

  /** Notes a request that is not a query. */
  noteWork(atMs: number): void {
    this.#workedAtMs = atMs
  }

  /** Drops the queries of a closed connection. */
  leave(session: object): void {
    this.#queue.leave(session)
    this.#histories.leave(session)
  }

  /** From now on, waiting and new queries are rejected. */
  stop(): void {
    this.#isStopping = true
  }

  /** Rejects the waiting queries. Call `stop` first. */
  finish(): void {
    this.#queue.finish()
    this.#histories.finish()
  }

  #answer(query: PendingQuery): void {
    const { request } = query
    if (this.#isStopping) {
      query.answer(rejected(request.id, 'STOPPING'))
    } else if (request.kind === 'history') {
      this.#histories.add(query.session, request, (answer) => query.answer(answer))
    } else {
      query.answer(answerQuery(request, this.#sources))
    }
  }

  /** The history up to the durable end of the log, with the task's known leases. */
  #historyQuery({ kind, id, ...place }: History): HistoryQuery {
    const leaseIds = getLeaseIds(this.#sources.state, place.taskId)
    const throughLsn = this.#means.log.durableLsn
    return { ...place, leaseIds, throughLsn, bytesMax: pageBytes(this.#sources) }
  }
}
