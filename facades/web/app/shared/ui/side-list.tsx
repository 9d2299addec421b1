import { describeError } from '../api/error-text.ts'
import { t } from '../text/labels.ts'

interface ListSearchProps {
  label: string
  text: string
  search: (text: string) => void
}

/** Filters a list in the sidebar by name. */
export const ListSearch = ({ label, text, search }: ListSearchProps) => (
  <input
    type="search"
    className="text-field"
    value={text}
    maxLength={120}
    aria-label={label}
    placeholder={label}
    onChange={({ target }) => search(target.value)}
  />
)

/** Shows that a list could not be read, with a button to try again. */
export const ListFailure = ({ error, read }: { error: unknown; read: () => void }) => (
  <div className="notice wrong" role="alert">
    <p>{describeError(error)}</p>
    <button type="button" className="quiet-button" onClick={read}>
      {t('app.tryAgain')}
    </button>
  </div>
)
