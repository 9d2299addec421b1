import { describeError } from '../api/error-text.ts'

interface ErrorMessageProps {
  /** The error; nothing is shown for undefined or null. */
  error: unknown
  className?: string
}

/** Shows an error and reads it out to screen readers. */
export const ErrorMessage = ({ error, className = 'wrong' }: ErrorMessageProps) =>
  error !== undefined &&
  error !== null && (
    <p className={className} role="alert">
      {describeError(error)}
    </p>
  )

/** Shows an error within a line. */
export const InlineError = ({ error }: { error: unknown }) =>
  error !== undefined &&
  error !== null && (
    <span className="wrong" role="alert">
      {describeError(error)}
    </span>
  )
