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

/**
 * What differs from run to run, each replaced by a word: this is the only place where that is done.
 * Columns move with what stands in them, so that the space between them is made the same, too. How
 * things are laid out is tested with facts that do not change.
 */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?Z/g, '<time>'],
  [/\b1[789]\d{11}\b/g, '<ms>'],
  [/\d+(\.\d+)? (ms|s|min)\b/g, '<span>'],
  [/\b[\d,.]+\/s\b/g, '<rate>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
  // A connection that its client has closed may be open for the coordinator still.
  [/(?<=^connections +)\d+/gm, '<count>'],
  [/(?<="waitingPolls":\d,"connections":)\d+/g, '<count>'],
  [/(?<="(elapsed|replay|write)Ms":)[\d.]+/g, '<span>'],
  // The room on the disk is that of the machine.
  [/(?<=^disk +)\S.*(?= free$)/gm, '<size>'],
  [/(?<="diskFreeBytes":)\d+/g, '<count>'],
  [/127\.0\.0\.1:\d+/g, '<endpoint>'],
  // Where a restored log goes on is a matter of the clock.
  [/(?<=goes on at LSN )\d{13,}/g, '<lsn>'],
  [/(?<=\S) {2,}/g, '  '],
]

export function normalise(text: string): string {
  return replacements.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), text)
}
