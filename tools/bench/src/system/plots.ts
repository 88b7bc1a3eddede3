import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Footprint } from './figure.js'
import type { Summary } from './summary.js'

/** The plots of a run as SVG, by file name. */
export async function drawPlots(
  found: readonly (Summary | Footprint)[],
  subtitle: string,
): Promise<ReadonlyMap<string, string>> {
  const figures = found.filter((figure): figure is Summary => figure.work !== 'hold')
  const specs: readonly [name: string, spec: TopLevelSpec][] = [
    ['system-throughput.svg', throughput(figures, subtitle)],
    ['system-latency.svg', latencyOverLoad(figures, subtitle)],
    ['system-cost.svg', costOverTasks(figures, subtitle)],
  ]
  const drawn = await Promise.all(
    specs.map(async ([name, spec]) => [name, await draw(spec)] as const),
  )
  return new Map(drawn)
}

async function draw(spec: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}

/** Colours that readers with any colour vision can tell apart (Okabe and Ito), and a brown. */
const durabilities = {
  domain: ['before the answer', 'soon after', 'unsynced'],
  range: ['#0072b2', '#e69f00', '#999999'],
}
const lines = [
  '#0072b2',
  '#d55e00',
  '#999999',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#000000',
  '#8b5a2b',
]

const config = {
  font: 'system-ui, "Segoe UI", Helvetica, Arial, sans-serif',
  axis: { labelFontSize: 12, titleFontSize: 12, gridColor: '#e4e4e4', titleFontWeight: 'normal' },
  legend: { labelFontSize: 12, labelLimit: 400 },
  view: { stroke: '#bbb' },
} as const

function frame(title: string, subtitle: string) {
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 16,
    title: {
      text: title,
      subtitle,
      anchor: 'start' as const,
      fontSize: 18,
      subtitleColor: '#555',
      offset: 12,
    },
    config,
  }
}

/** A bar for each system, and a panel for each work and shape. */
function throughput(figures: readonly Summary[], subtitle: string): TopLevelSpec {
  const shown = figures.filter(
    ({ work, load, liveTasks, system }) =>
      load === undefined && liveTasks === 0 && system !== 'echo' && throughputWorks.includes(work),
  )
  const values = shown.map(({ work, connections, inFlight, ...rest }) => ({
    panel: `${work}, ${connections} x ${inFlight}`,
    ...rest,
  }))
  return {
    ...frame('Operations per second, by when a task is on the disk', subtitle),
    data: { values },
    facet: { field: 'panel', type: 'nominal', title: null, sort: values.map(({ panel }) => panel) },
    columns: 3,
    resolve: { scale: { x: 'independent' } },
    spec: {
      width: 230,
      height: { step: 18 },
      mark: { type: 'bar' },
      encoding: {
        y: { field: 'system', type: 'nominal', title: null, sort: null },
        x: {
          field: 'opsPerSecond',
          type: 'quantitative',
          title: null,
          axis: { format: '~s', tickCount: 4 },
        },
        color: {
          field: 'durability',
          type: 'nominal',
          scale: durabilities,
          legend: { title: 'on the disk', orient: 'top', direction: 'horizontal' },
        },
      },
    },
  }
}

const throughputWorks: readonly string[] = ['submit', 'lease+complete', 'life']

function latencyOverLoad(figures: readonly Summary[], subtitle: string): TopLevelSpec {
  const values = figures
    .filter(({ load }) => load !== undefined)
    .flatMap(({ system, load, opsPerSecond, p50Ms, p99Ms }) => [
      { system, load, opsPerSecond, percentile: 'p50', ms: p50Ms },
      { system, load, opsPerSecond, percentile: 'p99', ms: p99Ms },
    ])
  return {
    ...frame('How long a submission takes under load: median solid, p99 dashed', subtitle),
    data: { values },
    width: 760,
    height: 420,
    mark: { type: 'line', point: { size: 45 }, strokeWidth: 2.5 },
    encoding: {
      x: {
        field: 'opsPerSecond',
        type: 'quantitative',
        scale: { type: 'log' },
        title: 'submissions per second (log scale)',
        axis: { format: '~s' },
      },
      y: {
        field: 'ms',
        type: 'quantitative',
        scale: { type: 'log' },
        title: 'milliseconds (log scale)',
        axis: { format: '~r' },
      },
      color: systemColour(values),
      // An overloaded server may answer fewer requests than one with less load.
      order: { field: 'load', type: 'quantitative' },
      strokeDash: {
        field: 'percentile',
        type: 'nominal',
        legend: null,
        scale: { domain: ['p50', 'p99'], range: [[], [5, 4]] },
      },
    },
  }
}

/**
 * A flat line is the goal: the cost of an operation does not depend on the number of waiting tasks.
 */
function costOverTasks(figures: readonly Summary[], subtitle: string): TopLevelSpec {
  const sizes = new Set(figures.filter(isBesideTasks).map(({ liveTasks }) => liveTasks))
  const shapes = new Set(figures.filter(isBesideTasks).map(shapeOf))
  const values = figures
    .filter(({ liveTasks }) => liveTasks === 0 || sizes.has(liveTasks))
    .filter((figure) => costWorks.includes(figure.work) && shapes.has(shapeOf(figure)))
    .filter(({ load, system }) => load === undefined && system !== 'echo')
    .map((figure) => ({
      panel: `${figure.work}, ${shapeOf(figure)}`,
      system: figure.system,
      liveTasks: Math.max(figure.liveTasks, 100),
      microseconds: 1e6 / figure.opsPerSecond,
    }))
  return {
    ...frame('Cost of an operation, by number of waiting tasks', subtitle),
    data: { values },
    facet: { field: 'panel', type: 'nominal', title: null },
    columns: 2,
    spec: {
      width: 360,
      height: 240,
      mark: { type: 'line', point: { size: 45 }, strokeWidth: 2.5 },
      encoding: {
        x: {
          field: 'liveTasks',
          type: 'quantitative',
          scale: { type: 'log' },
          title: 'waiting tasks (log scale, none at 100)',
          axis: { format: '~s' },
        },
        y: {
          field: 'microseconds',
          type: 'quantitative',
          scale: { type: 'log' },
          title: 'microseconds (log scale)',
          axis: { format: '~r' },
        },
        color: systemColour(values),
      },
    },
  }
}

const costWorks: readonly string[] = ['submit', 'lease+complete']

function isBesideTasks({ work, liveTasks }: Summary): boolean {
  return costWorks.includes(work) && liveTasks > 0
}

function shapeOf({ connections, inFlight }: Summary): string {
  return `${connections} x ${inFlight}`
}

function systemColour(values: readonly { readonly system: string }[]) {
  const domain = [...new Set(values.map(({ system }) => system))]
  return {
    field: 'system',
    type: 'nominal' as const,
    scale: { domain, range: lines },
    legend: { title: null, orient: 'right' as const, symbolType: 'stroke' as const },
  }
}
