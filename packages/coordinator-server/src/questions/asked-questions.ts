import type { Answer, History } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import { getLeaseIds } from '@tenure/state-machine/internal'
import type { HistoryQuery, HistoryReader } from '../history/history-page.js'
import { rejected } from '../refusals.js'
import { Histories } from './histories.js'
import { QuestionQueue } from './question-queue.js'
import { pageBytes, type QuestionSources } from './question-sources.js'
import { answerQuestion, type Question } from './questions.js'

/** A query with its connection and its reply callback. */
export interface AskedQuestion {
  readonly session: object
  readonly request: Question
  answer(answer: Answer): void
}

/** What queries need in addition to their sources. */
interface Means {
  readonly clock: Clock
  readonly log: { readonly durableLsn: number }
  readonly history?: HistoryReader | undefined
}

/** The coordinator counts as busy for this long after a request that is not a query. */
const busyMs = 10

/** Queries that are not yet answered. Other work has priority. */
export class AskedQuestions {
  readonly #sources: QuestionSources
  readonly #means: Means
  readonly #queue: QuestionQueue<AskedQuestion>
  readonly #histories: Histories
  #workedAtMs = Number.NEGATIVE_INFINITY
  #isStopping = false

  constructor(sources: QuestionSources, means: Means) {
    const { clock, history } = means
    this.#sources = sources
    this.#means = means
    this.#queue = new QuestionQueue(
      clock,
      () => clock.monotonicMs() - this.#workedAtMs < busyMs,
      (question) => this.#answer(question),
    )
    this.#histories = new Histories(history, (request) => this.#historyQuery(request))
  }

  add(question: AskedQuestion): void {
    this.#queue.add(question.session, question)
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

  #answer(question: AskedQuestion): void {
    const { request } = question
    if (this.#isStopping) {
      question.answer(rejected(request.id, 'STOPPING'))
    } else if (request.kind === 'history') {
      this.#histories.add(question.session, request, (answer) => question.answer(answer))
    } else {
      question.answer(answerQuestion(request, this.#sources))
    }
  }

  /** The history up to the durable end of the log, with the task's known leases. */
  #historyQuery({ kind, id, ...place }: History): HistoryQuery {
    const leaseIds = getLeaseIds(this.#sources.state, place.taskId)
    const throughLsn = this.#means.log.durableLsn
    return { ...place, leaseIds, throughLsn, bytesMax: pageBytes(this.#sources) }
  }
}
