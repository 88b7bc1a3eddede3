declare module 'fs-native-extensions' {
  /**
   * Takes an advisory lock on the file, exclusive by default. Returns false if another descriptor
   * holds it.
   */
  export function tryLock(fd: number, options?: { readonly shared: boolean }): boolean
}
