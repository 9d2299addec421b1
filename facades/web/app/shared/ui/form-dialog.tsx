import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { ErrorMessage } from './error-message.tsx'

/** The result of `save` that keeps the dialog open, for example to show a result. */
export const KEEP_OPEN = Symbol('keep open')

interface FormDialogProps {
  title: string
  children: ReactNode
  /** Saves the form. An error is shown and keeps the dialog open. Without `save`, the dialog can only be closed. */
  save?: (form: FormData) => Promise<unknown>
  action?: string
  isDangerous?: boolean
  close: () => void
}

/** A dialog with a form, which is submitted once at a time. */
export function FormDialog({ title, children, save, action, isDangerous = false, close }: FormDialogProps) {
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    // React events bubble to the form of the dialog below.
    event.stopPropagation()
    if (!save || state === 'working') return
    setState('working')
    await save(new FormData(event.currentTarget)).then(
      (result) => (result === KEEP_OPEN ? setState('ready') : close()),
      (error: unknown) => setState({ error }),
    )
  }
  return (
    // A click beside a form doesn't discard what was typed.
    <Dialog.Root open disablePointerDismissal={save !== undefined} onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <form className="dialog-form" onSubmit={submit}>
            {children}
            {typeof state === 'object' && <ErrorMessage error={state.error} />}
            <p className="actions">
              <Dialog.Close className="quiet-button">{t(save ? 'page.cancel' : 'app.close')}</Dialog.Close>
              {save && (
                <button
                  type="submit"
                  className={isDangerous ? 'danger-button' : 'button'}
                  disabled={state === 'working'}
                >
                  {action ?? t('app.save')}
                </button>
              )}
            </p>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
