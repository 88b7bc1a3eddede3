import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Machine } from './machine.js'
import type { Result, SystemName } from './result.js'

const labels: Record<SystemName, string> = {
  tenure: '@tenure/wal',
  limit: 'bare O_DSYNC writes',
  lmdb: 'LMDB',
  leveldb: 'LevelDB',
}

/** Colours that are distinguishable with any kind of colour vision (Okabe and Ito). */
const colours: Record<SystemName, string> = {
  tenure: '#0072b2',
  limit: '#777777',
  lmdb: '#d55e00',
  leveldb: '#009e73',
}

const powersOfTen = Array.from({ length: 13 }, (_, index) => 10 ** (index - 4))

/** Throughput and latency by number of appenders, as SVG. */
export async function drawPlot(machine: Machine, results: readonly Result[]): Promise<string> {
  const view = new View(parse(compile(specOf(machine, results)).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}

function specOf(machine: Machine, results: readonly Result[]): TopLevelSpec {
  const shown = results.filter(isShown(results))
  const system = {
    field: 'system',
    type: 'nominal' as const,
    title: null,
    scale: { domain: Object.values(labels), range: Object.values(colours) },
    legend: {
      orient: 'top' as const,
      direction: 'horizontal' as const,
      labelLimit: 400,
      columnPadding: 24,
      symbolType: 'stroke',
      symbolSize: 400,
      symbolStrokeWidth: 4,
      offset: 14,
    },
  }
  const appenders = {
    field: 'appenders',
    type: 'quantitative' as const,
    title: 'concurrent appenders, each with one record of 128 bytes in flight',
    scale: { type: 'log' as const, base: 2, domain: [1, 4096] },
    axis: { values: [1, 4, 16, 64, 256, 1024, 4096], format: 'd', labelFlush: false },
  }
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 16,
    title: {
      text: 'Durable appends',
      subtitle: [
        'Every record is on the medium before its append returns. ' +
          'The bare writes are as large as those of @tenure/wal.',
        `${machine.processor}, ${machine.cores} cores, ${machine.fileSystem}; Node ${machine.node}, ` +
          `lmdb ${machine.lmdb}, classic-level ${machine.classicLevel}; ${machine.date}`,
      ],
      anchor: 'start',
      fontSize: 18,
      subtitleColor: '#555',
      offset: 12,
    },
    config: {
      font: 'system-ui, "Segoe UI", Helvetica, Arial, sans-serif',
      axis: {
        labelFontSize: 12,
        titleFontSize: 12,
        gridColor: '#e4e4e4',
        titleFontWeight: 'normal',
      },
      legend: { labelFontSize: 12 },
      view: { stroke: '#bbb' },
    },
    spacing: 40,
    hconcat: [
      {
        title: panelTitle('Throughput'),
        width: 430,
        height: 340,
        data: { values: shown.map(throughputOf) },
        mark: { type: 'line', point: { size: 45 }, strokeWidth: 2.5 },
        encoding: {
          x: appenders,
          y: {
            field: 'recordsPerSecond',
            type: 'quantitative',
            title: 'records per second (log scale)',
            scale: { type: 'log' },
            axis: { format: '~s', values: powersOfTen },
          },
          color: system,
        },
      },
      {
        title: panelTitle('Latency: median solid, p99 dashed'),
        width: 430,
        height: 340,
        data: { values: shown.flatMap(latenciesOf) },
        mark: { type: 'line', point: { size: 45 }, strokeWidth: 2.5 },
        encoding: {
          x: appenders,
          y: {
            field: 'ms',
            type: 'quantitative',
            title: 'milliseconds per append (log scale)',
            scale: { type: 'log' },
            axis: { format: '~r', values: powersOfTen },
          },
          color: system,
          strokeDash: {
            field: 'percentile',
            type: 'nominal',
            scale: { domain: ['p50', 'p99'], range: [[], [5, 4]] },
            legend: null,
          },
        },
      },
    ],
  }
}

function panelTitle(text: string) {
  return { text, fontSize: 14, anchor: 'start' as const, offset: 8 }
}

/** Records of 128 bytes, and only the faster way of the limit. */
function isShown(results: readonly Result[]): (result: Result) => boolean {
  const isPlotted = (result: Result) => result.case === 'append' && result.recordBytes === 128
  return (result) =>
    isPlotted(result) &&
    !results.some(
      (other) =>
        isPlotted(other) &&
        other.system === result.system &&
        other.appenders === result.appenders &&
        (other.recordsPerSecond ?? 0) > (result.recordsPerSecond ?? 0),
    )
}

function throughputOf({ system, appenders, recordsPerSecond }: Result) {
  return { system: labels[system], appenders, recordsPerSecond }
}

function latenciesOf({ system, appenders, p50Ms, p99Ms }: Result) {
  return [
    { system: labels[system], appenders, percentile: 'p50', ms: p50Ms },
    { system: labels[system], appenders, percentile: 'p99', ms: p99Ms },
  ]
}
