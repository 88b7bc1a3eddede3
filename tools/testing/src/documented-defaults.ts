/**
 * The defaults in a document: from each table whose second column is "default", the rows that name one
 * option. Amounts become numbers, in milliseconds or bytes.
 */
export function documentedDefaults(markdown: string): ReadonlyMap<string, unknown> {
  const defaults = new Map<string, unknown>()
  let isTable = false
  for (const line of markdown.split('\n')) {
    const [, first, second] = line.split('|').map((cell) => cell.trim())
    if (first === undefined || second === undefined) isTable = false
    else if (second === 'default') isTable = true
    else if (isTable && /^`[^`]+`$/.test(first)) defaults.set(first.slice(1, -1), readCell(second))
  }
  return defaults
}

const amount = /^(\d+(?:,\d{3})*(?:\.\d+)?)(?: ([A-Za-z]+))?(?=[,;]? |$)/
const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

function readCell(cell: string): unknown {
  const code = /^`([^`]*)`/.exec(cell)?.[1]
  if (code !== undefined) return readLiteral(code)
  const [, digits, unit] = amount.exec(cell) ?? []
  if (digits === undefined) return cell
  return Number(digits.replaceAll(',', '')) * (unit === undefined ? 1 : (units[unit] ?? 1))
}

/** A JavaScript literal, or a plain word. */
function readLiteral(code: string): unknown {
  if (code === 'Infinity') return Number.POSITIVE_INFINITY
  const json = code.replaceAll("'", '"').replace(/(\w+):/g, '"$1":')
  try {
    return JSON.parse(json)
  } catch {
    return code
  }
}
