import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { CoordinatorProcess, makeDataDir, runToEnd } from './coordinator-process.js'

const root = join(import.meta.dirname, '../../../..')
const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
const alerts = readFileSync(join(root, 'deploy/alerts.yml'), 'utf8')

/** Of the page and of the rules: whatever looks like a metric of ours, and whatever looks like a flag. */
const metricsIn = (text: string) => new Set(text.match(/\btenure_[a-z_]+\b/g))
const flagsIn = (text: string) => new Set(text.match(/(?<=`)--[a-z-]+(?=`)/g))

t.test(
  'the page for operators and the alerts name metrics that there are, and the page all of them',
  async (t) => {
    const { coordinator, httpPort } = await CoordinatorProcess.start(t, makeDataDir(t))
    const text = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
    const metrics = new Set(text.match(/(?<=^# TYPE )\S+/gm))
    const named = [...metricsIn(page), ...metricsIn(alerts)]
    const unknown = named.filter((name) => !metrics.has(name.replace(/_(bucket|count|sum)$/, '')))
    t.same(unknown, [])
    const ownNames = [...metrics].filter((name) => !/^tenure_(process|nodejs)_/.test(name))
    t.same(
      ownNames.filter((name) => !metricsIn(page).has(name)),
      [],
    )
    await coordinator.stop()
  },
)

t.test('the HTTP port answers under the names that were allowed, and under no other', async (t) => {
  const args = ['--http-allowed-hosts', 'tenure.example']
  const { coordinator, httpPort } = await CoordinatorProcess.start(t, makeDataDir(t), args)
  for (const [host, status] of [
    ['tenure.example:7412', 200],
    ['evil.example', 421],
  ] as const) {
    const asked = get({
      host: '127.0.0.1',
      port: Number(httpPort),
      path: '/readyz',
      headers: { host },
    })
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    t.equal(response.statusCode, status, host)
  }
  await coordinator.stop()
})

t.test('every alert has its line on the page', (t) => {
  const names = alerts.match(/(?<=alert: )\w+/g) ?? []
  t.ok(names.length > 10)
  t.same(
    names.filter((name) => !page.includes(`| ${name}`) && !page.includes(`, ${name} |`)),
    [],
  )
  t.end()
})

t.test('the settings that the page recommends are settings of the coordinator', async (t) => {
  const { stdout: help } = await runToEnd(t, ['--help'])
  const table = page.slice(page.indexOf('## What to set'), page.indexOf('## What to watch'))
  const flags = [...flagsIn(table)].filter((flag) => flag !== '--print-config')
  t.ok(flags.length > 10)
  t.same(
    flags.filter((flag) => !help.includes(`  ${flag} `)),
    [],
  )
})
