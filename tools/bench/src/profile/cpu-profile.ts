/** The file that `node --cpu-prof` writes. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

/**
 * The share of busy time of each area: a package, a dependency or a part of Node. Largest share
 * first.
 */
export function sharesOf({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const areaOf = assignAreas(nodes)
  const spent = new Map<string, number>()
  let busy = 0
  for (const [index, id] of samples.entries()) {
    const area = areaOf.get(id) ?? idle
    if (area === idle) continue
    const deltaUs = timeDeltas[index] ?? 0
    spent.set(area, (spent.get(area) ?? 0) + deltaUs)
    busy += deltaUs
  }
  const shares = [...spent].map(([area, us]) => [area, us / busy] as const)
  return new Map(shares.sort(([, one], [, other]) => other - one))
}

const idle = '(idle)'

/** A frame without a file, such as a call into Node, belongs to the area of its caller. */
function assignAreas(nodes: readonly ProfileNode[]): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const areas = new Map<number, string>()
  const assign = (node: ProfileNode, callersArea: string) => {
    const area = areaOfFrame(node.callFrame) ?? callersArea
    areas.set(node.id, area)
    for (const child of node.children ?? []) assign(byId.get(child)!, area)
  }
  const [root] = nodes
  if (root !== undefined) assign(root, nativeArea)
  return areas
}

const nativeArea = 'Node and the kernel, unattributed'

function areaOfFrame({ functionName, url }: ProfileNode['callFrame']): string | undefined {
  if (functionName === '(idle)') return idle
  if (functionName === '(garbage collector)') return 'garbage collection'
  const [, ownPackage] = /\/(?:packages|apps)\/([^/]+)\/dist\//.exec(url) ?? []
  if (ownPackage !== undefined) return ownPackage
  const [, dependency] = /\/node_modules\/(?!\.pnpm)([^/]+)\//.exec(url) ?? []
  if (dependency !== undefined) return dependency
  if (/^node:(internal\/)?fs/.test(url)) return 'disk'
  if (/^node:(net|stream|internal\/(streams|stream_base|net))/.test(url)) return 'sockets'
  if (url.startsWith('node:')) return 'timers, events and the rest of Node'
  return undefined
}
