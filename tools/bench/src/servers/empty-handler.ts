/** Does nothing, so that only the cost of the worker itself is measured. */
export default async function empty(): Promise<void> {}
