import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { ErrorMessage } from './error-message.tsx'

/** What `save` resolves with where the dialog is to stay, such as to show what came of it. */
export const KEEP_OPEN = Symbol('keep open')

interface FormDialogProps {
  title: string
  /** The fields. */
  children: ReactNode
  /** Takes what stands in them; what it throws is shown, and the dialog stays. Without it, the dialog is only closed. */
  save?: (form: FormData) => Promise<unknown>
  /** The label of the button that saves. */
  action?: string
  isDangerous?: boolean
  close: () => void
}

/** Asks for something, and saves it once. */
export function FormDialog({ title, children, save, action, isDangerous = false, close }: FormDialogProps) {
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    // A dialog may stand above the form of another one.
    event.stopPropagation()
    if (!save || state === 'working') return
    setState('working')
    await save(new FormData(event.currentTarget)).then(
      (result) => (result === KEEP_OPEN ? setState('ready') : close()),
      (error: unknown) => setState({ error }),
    )
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
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
