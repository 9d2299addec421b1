import { useState } from 'react'
import { t } from '../text/labels.ts'
import { LabelledField } from './field.tsx'
import { IconButton } from './icon-button.tsx'
import { Input } from './input.tsx'
import styles from './passphrase-field.module.css'
import { type PassphraseRules, PassphraseStrength } from './passphrase-strength.tsx'

interface PassphraseFieldProps {
  label: string
  name: string
  autoComplete: 'current-password' | 'new-password'
  hint?: string | undefined
  canPaste: boolean
  /** False where another field of the form says that nothing can be pasted. */
  explainsPasting?: boolean
  /** The rules for a new passphrase, whose strength is shown. */
  rules?: PassphraseRules
}

/** A field for the passphrase, which can be shown, and into which an installation may forbid to paste. */
export function PassphraseField({
  label,
  hint,
  canPaste,
  explainsPasting = true,
  rules,
  ...rest
}: PassphraseFieldProps) {
  const [isShown, setShown] = useState(false)
  const [typed, setTyped] = useState('')
  const hints = [hint, !canPaste && explainsPasting && t('page.handshake.noPaste')].filter(Boolean).join(' ')
  const prepare = (field: HTMLInputElement) => {
    const stop = canPaste ? undefined : forbidPaste(field)
    const clear = () => {
      setTyped('')
      setShown(false)
    }
    field.form?.addEventListener('reset', clear)
    return () => {
      stop?.()
      field.form?.removeEventListener('reset', clear)
    }
  }
  return (
    <LabelledField label={label} hint={hints}>
      {(control) => (
        <>
          <span className={styles.control}>
            <Input
              {...control}
              {...rest}
              type={isShown ? 'text' : 'password'}
              required
              maxLength={1024}
              autoCapitalize="off"
              spellCheck={false}
              onChange={rules && (({ target }) => setTyped(target.value))}
              ref={prepare}
            />
            <IconButton
              icon={isShown ? 'hide' : 'show'}
              label={t('page.passphrase.show')}
              aria-pressed={isShown}
              aria-controls={control.id}
              onClick={() => setShown(!isShown)}
            />
          </span>
          {rules && <PassphraseStrength typed={typed} rules={rules} />}
        </>
      )}
    </LabelledField>
  )
}

/** Prevents pasting, dropping and yanking into a field; password managers can still fill it. */
function forbidPaste(field: HTMLInputElement): () => void {
  const refuse = (event: InputEvent) => event.inputType.startsWith('insertFrom') && event.preventDefault()
  // React's own `onBeforeInput` does not report pasting.
  field.addEventListener('beforeinput', refuse)
  return () => field.removeEventListener('beforeinput', refuse)
}
