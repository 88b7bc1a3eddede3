/** The log relies on the disk to write each sector completely or not at all. */
export const sectorBytes = 512

/** The header of a segment or checkpoint fills the file's first sector. */
export const fileHeaderBytes = 512

export const batchHeaderBytes = 64

/** The end of each sector tells in which life of the file it was written; see `Stamps`. */
export const stampBytes = 8

/** Batch headers start at multiples of this. */
export const batchAlignment = 8

/** Each record is preceded by its length (24 bits) and its type (8 bits). */
export const recordHeaderBytes = 4

/** The largest value of 24 bits. */
export const recordBytesCeiling = 2 ** 24 - 1

/**
 * Size of an epoch's first segment. It is small, so that a restart costs little disk space. Later
 * segments double in size.
 */
export const firstSegmentBytes = 1024 * 1024

/**
 * Zeros are written and synced in pieces. Small pieces delay commits the least. Large pieces finish
 * sooner, for when the segment in use fills faster than the next one is prepared.
 */
export const calmPieceBytes = 256 * 1024
export const hurriedPieceBytes = 4 * 1024 * 1024

/** Maximum interval between the syncs of a copy of a shared log. */
export const copySyncMsMax = 100

/** How many files of removed segments the log keeps at most, to use them again. */
export const spareFilesMax = 8

/** A copy is synced in pieces of this size, to delay commits on the same disk as little as possible. */
export const copyPieceBytes = 8 * 1024 * 1024

/** After this long without an append, a sync mark proves the last data batch; see `BatchHeader`. */
export const syncMarkDelayMs = 100

/** How often the log checks whether a full disk has space again. */
export const noSpaceRetryMs = 1000

/**
 * Maximum interval between attempts on a disk that reports free space but rejects writes, for
 * example because of a quota.
 */
export const noSpaceRetryMsMax = 60_000

/** Size of one read. */
export const readWindowBytes = 1024 * 1024

/** How often a reader that follows a writer looks for new records. */
export const followPollMs = 20
