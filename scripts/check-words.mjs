// Checks that comments, messages, help and documents are in plain English: no indefinite person as a subject, no phrase that
// needs a second reading, no sentence over 35 words, and a help text that stands alone.
// `--only <path>` looks at files whose path contains the text, `--count` shows numbers by folder.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { main, readArguments, root } from './workspace.mjs'

/** @typedef {{ line: number, text: string, kind: 'cell' | 'comment' | 'document' | 'help' | 'message' | 'summary' | 'title' }} Passage */
/** @typedef {{ file: string, line: number, why: string, sentence: string }} Fault */

const wordsMax = 35

/** Files written by others or for machines. */
const left =
  /^(docs\/specification\/|\.changeset\/|.*\/CHANGELOG\.md|.*\/api\.md|.*\/fixtures\/|.*\/golden\/)/

/** @type {readonly [pattern: RegExp, why: string][]} */
const phrases = [
  [
    /\b(?:whoever|nobody|no one|somebody|someone|everybody|everyone|anybody|anyone)\b/i,
    'name the component or the reader that acts',
  ],
  [/^(?:Who|What|Whatever)\b[^?]*$/, 'begin with the noun, not with a clause that stands for it'],
  [/\bso (?:many|long|often)\b(?! as)/i, 'name the number or the limit'],
  [/\bat once\b/i, 'say "immediately" or "concurrently"'],
  [/^(?:The same|Likewise)\b/, 'repeat the noun: this sentence is read alone'],
  [/\bin its place\b/i, 'say "instead"'],
  [/\bfor ever\b/i, 'write "forever"'],
  [/\b(?:is|are|was) nothing that\b/i, 'say what is wrong with it'],
]

/** Shells and tables show a help text alone. */
const leansOnOther =
  /^(?:The same|Not |Of |In its|It |They |Otherwise|Between|And |Or |Instead|With so|As )/

const { only, count } = readArguments('npx pnpm check:words [--only <path>] [--count]', {
  only: { type: 'string', default: '' },
  count: { type: 'boolean', default: false },
})
await main(() => {
  const files = tracked().filter((file) => file.includes(only) && !left.test(file))
  const faults = files.flatMap((file) => faultsOf(file))
  if (count) return showCounts(faults)
  if (faults.length > 0) {
    throw new Error(
      `${faults.map(({ file, line, why, sentence }) => `${file}:${line}: ${why}: ${sentence}`).join('\n')}\n${faults.length} passages to write more plainly.`,
    )
  }
  console.log(`${files.length} files are in plain English, as far as a program can tell.`)
})

function tracked() {
  const { stdout } = spawnSync('git', ['ls-files', '*.md', '*.ts', '*.mjs'], {
    cwd: root,
    encoding: 'utf8',
  })
  return stdout.split('\n').filter(Boolean)
}

/**
 * @param {string} file
 * @returns {Fault[]}
 */
function faultsOf(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const passages = file.endsWith('.md') ? passagesOfDocument(text) : passagesOfCode(file, text)
  return passages.flatMap(({ line, text, kind }) =>
    objections(text, kind).map(([why, sentence]) => ({ file, line, why, sentence })),
  )
}

/**
 * @param {string} text
 * @param {Passage['kind']} kind
 * @returns {[why: string, sentence: string][]}
 */
function objections(text, kind) {
  /** @type {[why: string, sentence: string][]} */
  const found = []
  for (const sentence of sentencesOf(text)) {
    const shown = sentence.length > 120 ? `${sentence.slice(0, 120)}…` : sentence
    for (const [pattern, why] of phrases) if (pattern.test(sentence)) found.push([why, shown])
    const words = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length
    // A cell of a table may be a list.
    if (words > wordsMax && kind !== 'cell') found.push([`${words} words in one sentence`, shown])
  }
  if (kind === 'help' && leansOnOther.test(text))
    found.push(['this help needs another one beside it', text])
  if (kind === 'summary' && !/^[A-Z][a-z]+(?<![^s]s) /.test(text)) {
    found.push(['a summary begins with an imperative verb', text])
  }
  return found
}

/** @param {string} text */
function sentencesOf(text) {
  return text
    .replace(/`[^`]*`/g, 'code')
    .split(/(?<=[.!?;:])\s+|\n{2,}/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence !== '')
}

/**
 * Paragraphs, items of lists, and cells of tables; no code.
 * @param {string} text
 * @returns {Passage[]}
 */
function passagesOfDocument(text) {
  /** @type {Passage[]} */
  const passages = []
  /** @type {string[]} */
  let paragraph = []
  let begin = 0
  let isCode = false
  const end = () => {
    if (paragraph.length > 0)
      passages.push({ line: begin, text: paragraph.join(' '), kind: 'document' })
    paragraph = []
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*```/.test(line)) {
      end()
      isCode = !isCode
    } else if (isCode) continue
    else if (/^\s*\|/.test(line)) {
      end()
      for (const cell of line.split(/(?<!\\)\|/)) {
        if (cell.trim() !== '') passages.push({ line: index + 1, text: cell, kind: 'cell' })
      }
    } else if (/^#+ /.test(line)) end()
    else if (line.trim() === '' || /^\s*(?:[-*]|\d+\.|>)\s/.test(line)) {
      end()
      begin = index + 1
      const item = line.replace(/^\s*(?:[-*]|\d+\.|>)\s+/, '')
      if (item.trim() !== '') paragraph.push(item)
    } else {
      if (paragraph.length === 0) begin = index + 1
      paragraph.push(line)
    }
  }
  end()
  return passages
}

/**
 * Comments, and strings that people may read.
 * @param {string} file
 * @param {string} text
 * @returns {Passage[]}
 */
function passagesOfCode(file, text) {
  const { comments, program } = parseSync(file, text)
  const lineOf = lineCounter(text)
  /** @type {Passage[]} */
  const passages = []
  let last = -2
  for (const { type, value, start, end } of comments) {
    const line = lineOf(start)
    const own = type === 'Block' ? textOfBlock(value) : value.trim()
    const before = passages.at(-1)
    if (type === 'Line' && before?.kind === 'comment' && line === last + 1) before.text += ` ${own}`
    // Drawings, layouts and directives are not sentences.
    else if (!/[─│┌└▶→]|^biome-|^@ts-|^[#/@]/.test(own))
      passages.push({ line, text: own, kind: 'comment' })
    last = type === 'Line' ? lineOf(end) : -2
  }
  const isShipped = /^(?:packages|apps)\/[^/]+\/src\//.test(file)
  /** @type {Map<number, Passage['kind']>} */
  const kinds = new Map()
  new Visitor({
    Property(node) {
      const { key, value } = node
      if (key.type !== 'Identifier' || !['help', 'summary'].includes(key.name)) return
      kinds.set(value.start, key.name === 'help' ? 'help' : 'summary')
    },
    CallExpression(node) {
      const {
        callee,
        arguments: [first],
      } = node
      const name =
        callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
          ? callee.property.name
          : ''
      if (name === 'test' && first !== undefined) kinds.set(first.start, 'title')
    },
    Literal(node) {
      if (typeof node.value === 'string') say(node.start, node.value)
    },
    TemplateLiteral(node) {
      say(node.start, node.quasis.map(({ value }) => value.cooked ?? '').join('X'))
    },
  }).visit(program)
  return passages

  /**
   * @param {number} start
   * @param {string} said
   */
  function say(start, said) {
    const kind = kinds.get(start) ?? 'message'
    if (kind === 'message' && !isShipped) return
    // Markup and styles.
    if (/^\s*[<.:][^\s]/.test(said)) return
    if (said.trim().split(/\s+/).length > 2)
      passages.push({ line: lineOf(start), text: said.trim(), kind })
  }
}

/**
 * Without the stars and the byte layouts; each JSDoc tag is a sentence of its own.
 * @param {string} block
 */
function textOfBlock(block) {
  return block
    .replace(/^\s*\*+ ?/gm, '')
    .replace(/ {2,}\S.*$/gm, '')
    .replace(/^@/gm, '\n\n@')
}

/** @param {string} text */
function lineCounter(text) {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  /** @param {number} offset */
  return (offset) => {
    let low = 0
    let high = starts.length
    while (low + 1 < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
}

/** @param {readonly Fault[]} faults */
function showCounts(faults) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const { file, why } of faults) {
    const folder = file
      .split('/')
      .slice(0, /^(packages|apps|tools)\//.test(file) ? 3 : 1)
      .join('/')
    const key = `${folder}: ${why.replace(/^\d+ /, '')}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  for (const [key, number] of [...counts].sort())
    console.log(`${String(number).padStart(5)}  ${key}`)
  console.log(`${String(faults.length).padStart(5)}  in all`)
}
