import { createContext, type ReactNode, useContext } from 'react'
import { t } from '../../shared/text/labels.ts'
import { findLine, type Origin } from './catalogue.ts'

const OriginContext = createContext<Origin | undefined>(undefined)

/** Says to the forms inside which entry of the file, if any, owns what they change. */
export const OriginProvider = OriginContext

/** The members of the shown row that the file of AI_CONFIG owns. */
export const useOrigin = () => useContext(OriginContext)

/** The fields of an attribute: where the file sets it they say in which line, and nobody can change them. */
export function FileOwned({ attribute, children }: { attribute: string; children: ReactNode }) {
  const line = findLine(useOrigin(), attribute)
  if (line === undefined) return children
  return (
    <fieldset className="owned" disabled>
      {children}
      <p className="hint">{t('app.admin.ownedBy', { line })}</p>
    </fieldset>
  )
}

interface FileNoteProps {
  origin: Origin | undefined
  file: string | undefined
}

/** Says where the entry of a row stands; nothing where the row was made here and no file could be meant. */
export function describeOrigin({ origin, file }: FileNoteProps): string | undefined {
  if (!file) return undefined
  return origin ? t('app.admin.inFile', { file, line: origin.line }) : t('app.admin.fromHere')
}
