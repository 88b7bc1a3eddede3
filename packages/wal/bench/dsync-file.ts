import * as fs from 'node:fs'

/**
 * On other platforms the flag does not reach the medium or does not exist, so a sync follows each
 * write.
 */
const hasDsync = process.platform === 'linux'

/** A preallocated file of zeros whose writes are durable on return. */
export class DsyncFile {
  readonly bytes: number
  readonly fd: number

  constructor(path: string, bytes: number) {
    this.bytes = bytes
    const zeros = new Uint8Array(1024 * 1024)
    const filling = fs.openSync(path, 'wx')
    for (let at = 0; at < bytes; at += zeros.length) {
      fs.writeSync(filling, zeros, 0, Math.min(zeros.length, bytes - at), at)
    }
    fs.fsyncSync(filling)
    fs.closeSync(filling)
    this.fd = fs.openSync(path, hasDsync ? fs.constants.O_RDWR | fs.constants.O_DSYNC : 'r+')
  }

  writeOnLoop(bytes: Uint8Array, position: number): void {
    writeDurably(this.fd, bytes, position)
  }

  writeOnPool(bytes: Uint8Array, position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.write(this.fd, bytes, 0, bytes.length, position, (error, count) => {
        if (error) reject(error)
        else if (count !== bytes.length) reject(shortWrite(count, bytes.length))
        else if (hasDsync) resolve()
        else fs.fsync(this.fd, (failure) => (failure ? reject(failure) : resolve()))
      })
    })
  }

  close(): void {
    fs.closeSync(this.fd)
  }
}

export function writeDurably(fd: number, bytes: Uint8Array, position: number): void {
  const count = fs.writeSync(fd, bytes, 0, bytes.length, position)
  if (count !== bytes.length) throw shortWrite(count, bytes.length)
  if (!hasDsync) fs.fsyncSync(fd)
}

function shortWrite(count: number, length: number): Error {
  return new Error(`the disk accepted only ${count} of ${length} bytes`)
}
