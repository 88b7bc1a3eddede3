import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { cleanEnvironment } from '@tenure/testing'
import t, { type Test } from 'tap'

const program = new URL('../src/isolation/process-main.js', import.meta.url)

function startHost(t: Test, fixture: string): ChildProcess {
  const handler = new URL(`./fixtures/${fixture}.js`, import.meta.url)
  // Without the loader of tap, which would have its own word.
  const environment = { env: cleanEnvironment(process.env), execArgv: [] }
  const stdio = ['pipe', 'pipe', 'pipe', 'ipc'] as const
  const host = fork(program, [handler.href], { ...environment, stdio: [...stdio] })
  t.teardown(() => host.kill('SIGKILL'))
  return host
}

async function endsWithoutAWord(t: Test, host: ChildProcess): Promise<void> {
  const [complaint, [code]] = await Promise.all([text(host.stderr!), once(host, 'exit')])
  t.equal(complaint, '')
  t.equal(code, 0)
}

t.test(
  'a process whose worker is gone before it listens ends, whatever is alive in it',
  async (t) => {
    const host = startHost(t, 'never-idle')
    host.disconnect()
    await endsWithoutAWord(t, host)
  },
)

t.test('a process whose worker goes while the handler is loaded ends without a word', async (t) => {
  const host = startHost(t, 'slow-to-load')
  await once(host.stdout!, 'data')
  host.disconnect()
  host.stdin!.end()
  await endsWithoutAWord(t, host)
})
