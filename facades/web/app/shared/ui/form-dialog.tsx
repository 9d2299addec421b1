import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, type ReactNode, useState } from 'react'
import { errorText } from '../api/error-text.ts'
import { t } from '../text/labels.ts'

interface FormDialogProps {
  title: string
  /** The fields. */
  children: ReactNode
  /** Takes what stands in them; what it throws is shown, and the dialog stays. */
  save: (form: FormData) => Promise<void>
  close: () => void
}

/** Asks for something, and saves it. */
export function FormDialog({ title, children, save, close }: FormDialogProps) {
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    await save(new FormData(event.currentTarget)).then(close, setError)
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <form className="dialog-form" onSubmit={submit}>
            {children}
            {error !== undefined && <FormError error={error} />}
            <p className="actions">
              <Dialog.Close className="quiet-button">{t('page.cancel')}</Dialog.Close>
              <button type="submit" className="button">
                {t('app.save')}
              </button>
            </p>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

export const FormError = ({ error }: { error: unknown }) => (
  <p className="wrong" role="alert">
    {errorText(error)}
  </p>
)
