/** Sizes in pixels. */
export interface Metrics {
  readonly barHeight: number
  readonly rowGap: number
  readonly lanePadding: number
  readonly restHeight: number
  readonly rowsMax: number
  readonly barFont: number
}

const roomy: Metrics = {
  barHeight: 22,
  rowGap: 5,
  lanePadding: 8,
  restHeight: 16,
  rowsMax: 6,
  barFont: 11,
}

const compact: Metrics = {
  barHeight: 13,
  rowGap: 3,
  lanePadding: 4,
  restHeight: 11,
  rowsMax: 6,
  barFont: 9,
}

/** Many lanes are drawn closer to each other. */
export function metricsFor(lanes: number): Metrics {
  return lanes > 14 ? compact : roomy
}

export const pictureWidth = 1200
export const margin = 24
export const pictureRight = pictureWidth - margin
