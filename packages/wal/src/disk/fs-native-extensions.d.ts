declare module 'fs-native-extensions' {
  /** Takes an exclusive advisory lock on the file. Returns false if another descriptor holds it. */
  export function tryLock(fd: number): boolean
}
