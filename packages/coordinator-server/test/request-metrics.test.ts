import t from 'tap'
import { RequestMetrics } from '../src/observe/request-metrics.js'

t.test('requests are counted by kind and answer, a refusal by its reason', (t) => {
  const metrics = new RequestMetrics()
  metrics.answered('submit', { kind: 'submitted', id: 1, taskId: 1, known: false }, 0.2)
  metrics.answered('submit', { kind: 'submitted', id: 2, taskId: 2, known: false }, 3)
  metrics.answered('submit', { kind: 'rejected', id: 3, reason: 'NO_SPACE', message: '' }, 70_000)
  metrics.answered('ping', { kind: 'pong', id: 4 }, 0.5)
  const lines = metrics.text().split('\n')
  for (const line of [
    '# TYPE tenure_requests_total counter',
    'tenure_requests_total{kind="submit",answer="submitted"} 2',
    'tenure_requests_total{kind="submit",answer="NO_SPACE"} 1',
    'tenure_requests_total{kind="ping",answer="pong"} 1',
    '# TYPE tenure_request_seconds histogram',
    'tenure_request_seconds_bucket{le="0.0005",kind="submit"} 1',
    'tenure_request_seconds_bucket{le="0.002",kind="submit"} 1',
    'tenure_request_seconds_bucket{le="0.005",kind="submit"} 2',
    'tenure_request_seconds_bucket{le="60",kind="submit"} 2',
    'tenure_request_seconds_bucket{le="+Inf",kind="submit"} 3',
    'tenure_request_seconds_sum{kind="submit"} 70.0032',
    'tenure_request_seconds_count{kind="submit"} 3',
    'tenure_request_seconds_bucket{le="0.0005",kind="ping"} 1',
  ])
    t.ok(lines.includes(line), line)
  t.end()
})
