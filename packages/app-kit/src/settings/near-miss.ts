/** ` Did you mean X?`, if a known name is close to the given one. */
export function suggest(given: string, known: readonly string[]): string {
  const best = nearest(given, known)
  return best === undefined ? '' : ` Did you mean ${best}?`
}

/** The known name with the fewest edits, unless the edits would replace every letter. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, edits: distance(plain(given), plain(name)) }))
    .sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best === undefined || best.edits > Math.max(2, best.name.length / 4)) return undefined
  const letters = Math.min(plain(given).length, plain(best.name).length)
  return best.edits < letters ? best.name : undefined
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** The Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const exchanged = row[j]! + (letter === other ? 0 : 1)
      next.push(Math.min(exchanged, row[j + 1]! + 1, next[j]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
