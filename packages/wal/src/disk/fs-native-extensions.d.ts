declare module 'fs-native-extensions' {
  /** Takes an exclusive advisory lock on the file, or returns false when another descriptor has it. */
  export function tryLock(fd: number): boolean
}
