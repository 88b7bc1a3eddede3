/** The samples without labels of a page of metrics. */
export type Metrics = Readonly<Record<string, number>>

export async function fetchMetrics(httpPort: number): Promise<Metrics> {
  const page = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  const samples = page.matchAll(/^(\w+) (\S+)$/gm)
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]))
}
