/** Nothing: what is left is the worker's own. */
export default async function empty(): Promise<void> {}
