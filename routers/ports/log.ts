/** The operator's log. It must contain neither secrets nor texts of people. */
export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}
