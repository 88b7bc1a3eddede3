import type { Answer } from '@tenure/protocol'

/** Upper bounds of the buckets, in seconds. */
const bounds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2, 10, 60]

/**
 * Counts answered requests by kind and answer, and their latency by kind. It does not use the metrics library,
 * whose lookup by labels on every request took a tenth of the coordinator's time.
 */
export class RequestMetrics {
  readonly #kinds = new Map<string, Kind>()

  answered(kind: string, answer: Answer, tookMs: number): void {
    let own = this.#kinds.get(kind)
    if (own === undefined) {
      own = {
        answers: new Map(),
        buckets: new Array<number>(bounds.length + 1).fill(0),
        seconds: 0,
      }
      this.#kinds.set(kind, own)
    }
    const word = answer.kind === 'rejected' ? answer.reason : answer.kind
    own.answers.set(word, (own.answers.get(word) ?? 0) + 1)
    const seconds = tookMs / 1000
    own.seconds += seconds
    let bucket = 0
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
    own.buckets[bucket]!++
  }

  /** Prometheus text format. */
  text(): string {
    const lines = [
      '# HELP tenure_requests_total Requests by kind and answer.',
      '# TYPE tenure_requests_total counter',
    ]
    for (const [kind, { answers }] of this.#kinds) {
      for (const [answer, count] of answers)
        lines.push(`tenure_requests_total{kind="${kind}",answer="${answer}"} ${count}`)
    }
    lines.push(
      '# HELP tenure_request_seconds Time from the arrival of a request to its answer, including the waiting time of lease requests.',
      '# TYPE tenure_request_seconds histogram',
    )
    for (const [kind, own] of this.#kinds) lines.push(...histogramLines(kind, own))
    return `${lines.join('\n')}\n`
  }
}

interface Kind {
  readonly answers: Map<string, number>
  /** Counts per bucket, not cumulative; the last bucket has no upper bound. */
  readonly buckets: number[]
  seconds: number
}

function histogramLines(kind: string, { buckets, seconds }: Kind): string[] {
  let count = 0
  const lines = buckets.map((own, index) => {
    count += own
    return `tenure_request_seconds_bucket{le="${bounds[index] ?? '+Inf'}",kind="${kind}"} ${count}`
  })
  return [
    ...lines,
    `tenure_request_seconds_sum{kind="${kind}"} ${seconds}`,
    `tenure_request_seconds_count{kind="${kind}"} ${count}`,
  ]
}
