import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const demo = fileURLToPath(new URL('../src/demo.js', import.meta.url))

t.test('the demonstration goes the way it says, and ends with why a task ran twice', async (t) => {
  // Without the loader of tap, which would go into every process and thread.
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [demo, '--lease', '2500', '--pause', '0'], {
    stdio: 'pipe',
    env,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text
    })
  const [code] = await once(child, 'close')
  t.equal(code, 0, output)
  t.match(output, /ran twice: lease \d+ of worker cora expired before its report arrived/)
  t.match(output, /→ It ran once\. A lease that was granted before the crash is good after it\./)
})
