import { formatDuration } from '@tenure/app-kit'
import type { WhatIfKnobs } from '@tenure/history'
import { showShare } from './share.js'

/** The knobs that are tried, as they are typed. */
export function showKnobs(knobs: WhatIfKnobs): string {
  const { leaseDurationMs, executionWindowMs, maxRetries, poisonThreshold, heartbeatShare } = knobs
  const flags = [
    [
      '--lease-duration',
      leaseDurationMs === undefined ? undefined : formatDuration(leaseDurationMs),
    ],
    [
      '--execution-window',
      executionWindowMs === undefined ? undefined : formatDuration(executionWindowMs),
    ],
    ['--max-retries', maxRetries],
    ...flagsOf(knobs.backoff),
    ['--poison-threshold', poisonThreshold],
    ['--heartbeat-share', heartbeatShare === undefined ? undefined : showShare(heartbeatShare)],
  ] as const
  return flags
    .flatMap(([flag, value]) => (value === undefined ? [] : [`${flag} ${value}`]))
    .join(' ')
}

function flagsOf(backoff: WhatIfKnobs['backoff']): (readonly [flag: string, value: string])[] {
  if (backoff === undefined) return []
  if (backoff.kind === 'fixed') {
    return [
      ['--backoff', 'fixed'],
      ['--backoff-delay', formatDuration(backoff.delayMs)],
    ]
  }
  return [
    ['--backoff', 'exponential'],
    ['--backoff-delay', formatDuration(backoff.initialMs)],
    ['--backoff-max', formatDuration(backoff.maxMs)],
  ]
}
