/** What `node --cpu-prof` writes. */
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

/** In which room of the house the time went: shares of the time that was not idle, largest first. */
export function sharesOf({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const roomOf = assignRooms(nodes)
  const spent = new Map<string, number>()
  let busy = 0
  for (const [index, id] of samples.entries()) {
    const room = roomOf.get(id) ?? idle
    if (room === idle) continue
    const deltaUs = timeDeltas[index] ?? 0
    spent.set(room, (spent.get(room) ?? 0) + deltaUs)
    busy += deltaUs
  }
  const shares = [...spent].map(([room, us]) => [room, us / busy] as const)
  return new Map(shares.sort(([, one], [, other]) => other - one))
}

const idle = '(idle)'

/** What has no file of its own, as calls into Node, counts for whoever called it. */
function assignRooms(nodes: readonly ProfileNode[]): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const rooms = new Map<number, string>()
  const assign = (node: ProfileNode, callersRoom: string) => {
    const room = roomOfFrame(node.callFrame) ?? callersRoom
    rooms.set(node.id, room)
    for (const child of node.children ?? []) assign(byId.get(child)!, room)
  }
  const [root] = nodes
  if (root !== undefined) assign(root, nativeRoom)
  return rooms
}

const nativeRoom = 'Node and the kernel, unattributed'

function roomOfFrame({ functionName, url }: ProfileNode['callFrame']): string | undefined {
  if (functionName === '(idle)') return idle
  if (functionName === '(garbage collector)') return 'garbage collection'
  const [, ownPackage] = /\/(?:packages|apps)\/([^/]+)\/dist\//.exec(url) ?? []
  if (ownPackage !== undefined) return ownPackage
  const [, dependency] = /\/node_modules\/(?!\.pnpm)([^/]+)\//.exec(url) ?? []
  if (dependency !== undefined) return dependency
  if (/^node:(internal\/)?fs/.test(url)) return 'the disk'
  if (/^node:(net|stream|internal\/(streams|stream_base|net))/.test(url)) return 'sockets'
  if (url.startsWith('node:')) return 'timers, events and the rest of Node'
  return undefined
}
