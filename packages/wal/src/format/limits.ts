/** The unit a disk writes whole or not at all, as far as the log relies on it. */
export const sectorBytes = 512

/** The header of a segment or checkpoint fills the file's first sector. */
export const fileHeaderBytes = 512

export const batchHeaderBytes = 64

/** Headers start at multiples of this. */
export const batchAlignment = 8

/** Each record is preceded by its length (24 bits) and its type (8 bits). */
export const recordHeaderBytes = 4

/** What 24 bits can say. */
export const recordBytesCeiling = 2 ** 24 - 1

/** The most that a batch adds to a segment beside its body: its header, alignment, and padding. */
export const batchOverheadBytes = 2 * batchHeaderBytes + batchAlignment

/** An epoch's first segment is this small, so that a restart costs little disk; later ones double. */
export const firstSegmentBytes = 1024 * 1024

/**
 * Zeros are written in pieces, each synced. Small ones hold up commits the least; when the segment
 * in use fills faster than the next one, large ones get done sooner.
 */
export const calmPieceBytes = 256 * 1024
export const hurriedPieceBytes = 4 * 1024 * 1024

/** A copy is made durable in pieces of this size, so as not to hold up the commits beside it. */
export const copyPieceBytes = 8 * 1024 * 1024

/** After this long without an append, the last data batch gets its proof; see `BatchHeader`. */
export const syncMarkDelayMs = 100

/** How often the log asks whether a full disk has room again. */
export const noSpaceRetryMs = 1000

/** How often at least it tries where the disk says so and then has none, as one with quotas does. */
export const noSpaceRetryMsMax = 60_000

/** How much of a file is read at once. */
export const readWindowBytes = 1024 * 1024

/** How often a reader that follows a writer looks for more. */
export const followPollMs = 20
