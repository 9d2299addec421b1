import { describeError } from '../api/error-text.ts'
import { joinClasses } from './class-names.ts'
import { Notice } from './notice.tsx'

interface ErrorMessageProps {
  /** The error; nothing is shown for undefined or null. */
  error: unknown
  className?: string | undefined
}

const isShown = (error: unknown) => error !== undefined && error !== null

/** Shows an error and reads it out to screen readers. */
export const ErrorMessage = ({ error, className }: ErrorMessageProps) =>
  isShown(error) && (
    <p className={joinClasses('error', className)} role="alert">
      {describeError(error)}
    </p>
  )

/** Shows an error within a line. */
export const InlineError = ({ error }: { error: unknown }) =>
  isShown(error) && (
    <span className="error" role="alert">
      {describeError(error)}
    </span>
  )

/** Shows an error in a box of its own. */
export const ErrorNotice = ({ error, className }: ErrorMessageProps) =>
  isShown(error) && (
    <Notice kind="error" className={className} role="alert">
      {describeError(error)}
    </Notice>
  )
