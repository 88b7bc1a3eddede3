/** What is configured is not acceptable. The message names where it stands, what was given, and what would do. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigError'
  }
}
