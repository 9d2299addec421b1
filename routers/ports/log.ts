/** Takes a line for the operator: never a word that a person wrote, never a secret. */
export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}
