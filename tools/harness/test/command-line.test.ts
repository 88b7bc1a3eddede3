import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import t from 'tap'

/** The output and exit code of a tool with this command line. */
async function run(...args: readonly string[]) {
  const facade = new URL('../src/index.js', import.meta.url).href
  const tool = `
    import { parseOptions, parseWhole, runTool } from '${facade}'
    await runTool('tool [--count n]', (args) =>
      parseWhole('count', parseOptions(args, { count: 'string' }).count ?? '1'), process.argv.slice(1))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', tool, '--', ...args])
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { out, error, code: await ended }
}

t.test('--help prints the usage and exits with 0', async (t) => {
  t.same(await run('--help'), { out: 'Usage: tool [--count n]\n', error: '', code: 0 })
})

t.test('an invalid command line prints the error and the usage, and exits with 2', async (t) => {
  t.same(await run('--count', 'many'), {
    out: '',
    error: '--count is many; it must be a whole number above 0\n\nUsage: tool [--count n]\n',
    code: 2,
  })
  const unknown = await run('--cuont', '3')
  t.match(unknown, { out: '', error: /^Unknown option '--cuont'.*\n\nUsage: tool/, code: 2 })
})

t.test('a tool exits with the code that it returns', async (t) => {
  t.match(await run('--count', '7'), { out: '', error: '', code: 7 })
  t.match(await run('--', '--count', '3'), { code: 3 }, 'as pnpm passes it on')
})
