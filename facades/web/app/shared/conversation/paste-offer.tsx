import { type ReactNode, useRef, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import type { Uploads } from '../uploads.ts'
import styles from './paste-offer.module.css'

/** The length of a pasted text from which it is offered as a file. */
const LONG_TEXT = 8000

interface Field {
  text: string
  write: (text: string) => void
  addText: Uploads['addText']
  focus: () => void
}

/**
 * Offers to attach a long text as a file that was pasted into a field. The text stays in the field until the service has
 * the file.
 */
export function usePasteOffer({ text, write, addText, focus }: Field): {
  takePasted: (pasted: string) => void
  offer: ReactNode
} {
  const [pasted, setPasted] = useState('')
  const [isBusy, setBusy] = useState(false)
  const latest = useRef(text)
  latest.current = text
  const attach = async () => {
    setBusy(true)
    const isTaken = await addText(pasted)
    setBusy(false)
    if (!isTaken) return
    write(latest.current.replace(pasted, () => '').trim())
    setPasted('')
    focus()
  }
  const isOffered = pasted !== '' && text.includes(pasted)
  return {
    takePasted: (next) => setPasted(next.length > LONG_TEXT ? next.replace(/\r\n?/g, '\n') : ''),
    offer: isOffered && (
      <p className={styles.offer} role="status">
        <span>{t('app.paste.long', { count: pasted.length })}</span>
        <Button kind="plain" disabled={isBusy} onClick={attach}>
          {t('app.paste.attach')}
        </Button>
      </p>
    ),
  }
}
