import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Link, openLink, Tenure } from '@tenure/client'
import { programOf } from '@tenure/harness'
import { systemRandom } from '@tenure/seams'
import { startWorker } from '@tenure/worker-runtime'
import { isListening } from '../../servers/ask.js'
import { type Client, type Contender, fillThrough, payloadBytes } from '../contender.js'

const require = createRequire(import.meta.url)
const manifest = require.resolve('@tenure/coordinator/package.json')
const payload = Buffer.alloc(payloadBytes, 'x')

const tenure: Contender = {
  system: 'tenure',
  warmsUp: true,
  runsHandlers: true,
  durability: 'before the answer',
  promise: 'every answer after its record was written with O_DSYNC',
  program: programOf(import.meta.resolve('@tenure/coordinator/package.json')),
  args: ({ directory, port }) => [
    ...['--data-dir', join(directory, 'data'), '--port', `${port}`, '--http-port', 'off'],
  ],
  answers: isListening,
  version: () => `${(require(manifest) as { version: string }).version} of this repository`,
  open: async (port, index) => new TenureClient(await openAs(port, `bench-${index}`)),
  fill: (port, tasks) => fillThrough(tenure, port, tasks),
  async consume(port, { connections, atOnce }, begun) {
    const workers = await Promise.all(
      Array.from({ length: connections }, () =>
        startWorker({
          endpoints: [`127.0.0.1:${port}`],
          isolation: 'inline',
          concurrency: atOnce,
          handler: async () => begun(),
        }),
      ),
    )
    return { stop: () => Promise.all(workers.map((worker) => worker.stop())) }
  },
}

export const tenureContenders: readonly Contender[] = [tenure]

/** Also for servers that speak the same protocol. */
export function openAs(port: number, name: string): Promise<Link> {
  return openLink({ endpoints: [`127.0.0.1:${port}`], role: 'admin', name })
}

export class TenureClient implements Client {
  readonly #link: Link
  readonly #tenure: Tenure
  readonly #held: { readonly taskId: number; readonly leaseId: number }[] = []
  #turn = 0

  constructor(link: Link) {
    this.#link = link
    this.#tenure = new Tenure(link)
  }

  async submit(): Promise<void> {
    const { kind } = await this.#link.request({ kind: 'submit', payload })
    if (kind !== 'submitted') throw new Error(`tenure answers ${kind} to a submission`)
  }

  submitWithId(): Promise<unknown> {
    return this.#tenure.submit(payload)
  }

  async process(): Promise<boolean> {
    const held = await this.#lease()
    if (held === undefined) return false
    const reportId = systemRandom.id()
    const { kind } = await this.#link.request({ kind: 'complete', ...held, reportId })
    if (kind !== 'committed') throw new Error(`tenure answers ${kind} to a report`)
    return true
  }

  async hold(): Promise<void> {
    const held = await this.#lease()
    if (held === undefined) throw new Error('tenure has no task to hold')
    this.#held.push(held)
  }

  async heartbeat(): Promise<void> {
    const { kind } = await this.#link.request({ kind: 'heartbeat', ...this.#next() })
    if (kind !== 'extended') throw new Error(`tenure answers ${kind} to a heartbeat`)
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  #next() {
    return this.#held[this.#turn++ % this.#held.length]!
  }

  async #lease() {
    const answer = await this.#link.request({ kind: 'lease', queues: ['default'], waitMs: 0 })
    if (answer.kind === 'leased') return { taskId: answer.taskId, leaseId: answer.leaseId }
    if (answer.kind === 'empty') return undefined
    throw new Error(`tenure answers ${answer.kind} to a lease request`)
  }
}
