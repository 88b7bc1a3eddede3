// Maps positions in the output of a failed test to TypeScript. Node could do it (`--enable-source-maps`), but it would
// read the source map of every module, which takes a tenth of the time of all tests.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The formats of stacks and of tap's `at`. */
const inStack = /((?:file:\/\/)?[^\s()]+\.js):(\d+):(\d+)/g
const inDiagnostics = /(fileName: )(\S+\.js)(\s+lineNumber: )(\d+)(\s+columnNumber: )(\d+)/g

/**
 * @param {string} text
 * @param {string} cwd base of relative paths
 */
export function bySource(text, cwd) {
  /** @type {Map<string, SourceMap | undefined>} */
  const maps = new Map()
  /** @param {string} name @param {string} line @param {string} column */
  const origin = (name, line, column) => {
    const path = name.startsWith('file://') ? fileURLToPath(name) : resolve(cwd, name)
    if (!maps.has(path)) maps.set(path, readMap(`${path}.map`))
    const found = maps.get(path)?.findOrigin(Number(line), Number(column))
    if (found === undefined || !('fileName' in found)) return undefined
    const { fileName, lineNumber, columnNumber } = found
    return { file: relative(cwd, resolve(dirname(path), fileName)), lineNumber, columnNumber }
  }
  return text
    .replace(inStack, (place, name, line, column) => {
      const found = origin(name, line, column)
      return found ? `${found.file}:${found.lineNumber}:${found.columnNumber}` : place
    })
    .replace(inDiagnostics, (place, file, name, atLine, line, atColumn, column) => {
      const found = origin(name, line, column)
      if (found === undefined) return place
      return [file, found.file, atLine, found.lineNumber, atColumn, found.columnNumber].join('')
    })
}

/** @param {string} path */
function readMap(path) {
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined
}
