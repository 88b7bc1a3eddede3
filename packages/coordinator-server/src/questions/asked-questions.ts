import type { Answer, History } from '@tenure/protocol'
import type { Clock } from '@tenure/seams'
import { getLeaseIds } from '@tenure/state-machine/internal'
import type { HistoryQuery, HistoryReader } from '../history/history-page.js'
import { rejected } from '../refusals.js'
import { Histories } from './histories.js'
import { QuestionQueue } from './question-queue.js'
import { pageBytes, type QuestionSources } from './question-sources.js'
import { answerQuestion, type Question } from './questions.js'

/** A question, who asks it, and where the answer goes. */
export interface AskedQuestion {
  readonly session: object
  readonly request: Question
  answer(answer: Answer): void
}

/** What questions need beside their sources. */
interface Means {
  readonly clock: Clock
  readonly log: { readonly durableLsn: number }
  readonly history?: HistoryReader | undefined
}

/** Where requests come one after the other, the next one comes sooner than this. */
const busyMs = 10

/** Questions on their way to their answers. Other work goes first. */
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

  /** A request came that is no question. */
  noteWork(atMs: number): void {
    this.#workedAtMs = atMs
  }

  /** Nobody waits there for answers any more. */
  leave(session: object): void {
    this.#queue.leave(session)
    this.#histories.leave(session)
  }

  /** From now on all that wait, and all that come, are refused. */
  stop(): void {
    this.#isStopping = true
  }

  /** Refuses those that wait now; `stop` has been called. */
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

  /** Up to what is durable now, with the leases that the task is remembered to have had. */
  #historyQuery({ kind, id, ...place }: History): HistoryQuery {
    const leaseIds = getLeaseIds(this.#sources.state, place.taskId)
    const throughLsn = this.#means.log.durableLsn
    return { ...place, leaseIds, throughLsn, bytesMax: pageBytes(this.#sources) }
  }
}
