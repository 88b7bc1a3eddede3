import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const directory = new URL('../../test/golden/', import.meta.url)
const isUpdate = process.env.TENURE_UPDATE_GOLDEN === '1'

/**
 * The text is what stands in test/golden/<name>.txt, to the byte. With TENURE_UPDATE_GOLDEN=1 it is
 * written there instead: then look at what has changed before it is committed. A terminal's control
 * sequences stand there as they are; `cat` shows them as the terminal would.
 */
export function golden(t: Test, name: string, text: string): void {
  const path = fileURLToPath(new URL(`${name}.txt`, directory))
  if (isUpdate) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  t.equal(text, readFileSync(path, 'utf8'), `golden/${name}.txt`)
}
