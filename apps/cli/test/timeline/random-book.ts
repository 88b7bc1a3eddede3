import { getLease, getTask, leasedTasks } from '@tenure/state-machine'
import { Book } from '@tenure/testing-histories'
import fc, { type Arbitrary } from 'fast-check'

const deeds = [
  ...['submit', 'lease', 'lease', 'extend', 'complete', 'fail'],
  ...['expire', 'expire', 'cancel', 'kill', 'restart'],
] as const

interface Step {
  readonly deed: (typeof deeds)[number]
  readonly waitMs: number
  readonly choice: number
}

/** Steps to try in order; unlike a book, a counterexample of steps is readable. */
export const attempts: Arbitrary<Step[]> = fc.array(
  fc.record<Step>({
    deed: fc.constantFrom(...deeds),
    waitMs: fc.oneof(fc.constant(0), fc.nat(50), fc.nat(20_000)),
    choice: fc.nat(1000),
  }),
  { minLength: 1, maxLength: 120, size: 'max' },
)

/** Writes a legal history; steps that are impossible at their time are skipped. */
export function writeBook(steps: readonly Step[]): Book {
  const book = new Book()
  book.submit()
  const writer = new Writer(book)
  for (const step of steps) writer.do(step)
  return book
}

class Writer {
  readonly #book: Book
  readonly #tasks: number[] = [1]
  readonly #expired: number[] = []

  constructor(book: Book) {
    this.#book = book
  }

  do({ deed, waitMs, choice }: Step): void {
    const book = this.#book
    this.#pass(waitMs)
    const pick = <T>(from: readonly T[]) => from[choice % from.length]
    const lease = pick(
      leasedTasks(book.state).map((id) => getTask(book.state, id)!.currentLeaseId!),
    )
    const alive = this.#tasks.map((id) => getTask(book.state, id)!)
    const eligible = pick(alive.filter(({ eligibleAt = Infinity }) => eligibleAt <= book.now))
    switch (deed) {
      case 'submit':
        this.#tasks.push(book.submit(choice % 2 === 0 ? {} : { notBefore: book.now + choice }))
        break
      case 'lease':
        if (eligible !== undefined) book.lease(eligible.taskId, `w-${choice % 4}`)
        break
      case 'cancel':
        if (this.#expired.length > 0) book.cancel(this.#expired.shift()!)
        break
      case 'kill': {
        const victim = pick(alive.filter(({ state }) => state === 'WAITING' || state === 'LEASED'))
        if (choice % 5 === 0 && victim !== undefined) book.kill(victim.taskId)
        break
      }
      case 'restart':
        book.restart()
        break
      default:
        if (lease !== undefined) this.#doWith(lease, deed)
    }
  }

  #doWith(lease: number, deed: 'extend' | 'complete' | 'fail' | 'expire'): void {
    const book = this.#book
    if (deed === 'expire') this.#pass(getLease(book.state, lease)!.leaseExpiry - book.now)
    else if (deed !== 'extend') book[deed](lease)
    else if (getLease(book.state, lease)!.leaseExpiry < book.now + book.leaseMs) book.extend(lease)
  }

  /** Expires leases in the order of time. */
  #pass(waitMs: number): void {
    const book = this.#book
    const until = book.now + waitMs
    for (const taskId of leasedTasks(book.state)) {
      const { leaseId, leaseExpiry } = getLease(
        book.state,
        getTask(book.state, taskId)!.currentLeaseId!,
      )!
      if (leaseExpiry > until) break
      book.expire(leaseId)
      this.#expired.push(leaseId)
    }
    book.now = Math.max(book.now, until)
  }
}
