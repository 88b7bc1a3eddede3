import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const directory = new URL('../../test/golden/', import.meta.url)
const isUpdate = process.env.TENURE_UPDATE_GOLDEN === '1'

/**
 * Compares a text with test/golden/<name>.txt. TENURE_UPDATE_GOLDEN=1 writes the file instead: review
 * the changes before you commit them. The files contain terminal control sequences; `cat` shows them.
 */
export function golden(t: Test, name: string, text: string): void {
  const path = fileURLToPath(new URL(`${name}.txt`, directory))
  if (isUpdate) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  t.equal(text, readFileSync(path, 'utf8'), `golden/${name}.txt`)
}

/**
 * Replaces values that differ from run to run. Also unifies the space between columns, which depends on
 * these values; tests with fixed values check the layout.
 */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?Z/g, '<time>'],
  [/\b1[789]\d{11}\b/g, '<ms>'],
  [/\d+(\.\d+)? (ms|s|min)\b/g, '<span>'],
  [/\b[\d,.]+\/s\b/g, '<rate>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  // The coordinator may not have noticed yet that a client closed its connection.
  [/(?<=^connections +)\d+/gm, '<count>'],
  [/(?<="waitingPolls":\d,"connections":)\d+/g, '<count>'],
  [/(?<="(elapsed|replay|write)Ms":)[\d.]+/g, '<span>'],
  // Free disk space depends on the machine.
  [/(?<=^disk +)\S.*(?= free$)/gm, '<size>'],
  [/(?<="diskFreeBytes":)\d+/g, '<count>'],
  [/127\.0\.0\.1:\d+/g, '<endpoint>'],
  // The next LSN of a restored log depends on the clock.
  [/(?<=continues at LSN )\d{13,}/g, '<lsn>'],
  [/(?<=\S) {2,}/g, '  '],
]

export function normalise(text: string): string {
  return replacements.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), text)
}
