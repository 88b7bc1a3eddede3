import t from 'tap'
import { AllowedHosts } from '../src/allowed-hosts.js'

const hosts = new AllowedHosts(['Metrics.Example', 'coordinator'])

t.test('loopback names, addresses and the names that were allowed are let in', async (t) => {
  const good = [
    ...['localhost', 'localhost:7412', 'LOCALHOST.', 'tenure.localhost:7412'],
    ...['127.0.0.1', '127.0.0.1:7412', '10.1.2.3:80', '[::1]', '[fe80::1]:7412'],
    ...['metrics.example', 'METRICS.example.:7412', 'coordinator:7412'],
  ]
  for (const host of good) t.equal(hosts.allows(host), true, host)
})

t.test('every other name is refused, however much it looks like an allowed one', async (t) => {
  const bad = [
    ...['evil.example', 'evil.example:7412', 'localhost.evil.example', 'notlocalhost'],
    ...['127.0.0.1.evil.example', 'x.metrics.example', 'metrics.example.evil', 'coordinator2'],
    ...[
      'evil.example@127.0.0.1',
      '[evil.example]',
      '[127.0.0.1]',
      '::1',
      '[::1',
      '127.0.0.1:80:80',
    ],
    ...['.', ':7412', ' ', '127.0.0.1 evil.example', 'localhost/evil'],
  ]
  for (const host of bad) t.equal(hosts.allows(host), false, host)
})

t.test('a program that sends no host is let in: a browser always sends one', async (t) => {
  t.equal(hosts.allows(undefined), true)
  t.equal(hosts.allows(''), true)
})
