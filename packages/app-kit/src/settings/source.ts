/** Where a value may come from. An argument is a word without a flag, told by its place. */
export type Source = 'argument' | 'flag' | 'environment' | 'file'
