/** A value to be compared by what it says: absent, nil and undefined are one, and bytes are bytes. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const fields = Object.entries(value)
    .filter(([, field]) => field !== null && field !== undefined)
    .map(([name, field]) => [name, plain(field)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields)
}
