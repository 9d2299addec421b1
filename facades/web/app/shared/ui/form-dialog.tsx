import { type FormEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from './button.tsx'
import { Dialog, DialogClose, DialogFoot, DialogForm, type DialogWidth } from './dialog.tsx'
import { ErrorMessage } from './error-message.tsx'
import { Toolbar } from './toolbar.tsx'

/** The result of `save` that keeps the dialog open, for example to show a result. */
export const KEEP_OPEN = Symbol('keep open')

interface FormDialogProps {
  title: string
  children: ReactNode
  /** Saves the form. An error is shown and keeps the dialog open. Without `save`, the dialog can only be closed. */
  save?: (form: FormData) => Promise<unknown>
  action?: string
  isDangerous?: boolean
  /** True if it shows what cannot be read again. */
  isShownOnce?: boolean
  width?: DialogWidth
  close: () => void
}

/** A dialog with a form, which is submitted once at a time. */
export function FormDialog(props: FormDialogProps) {
  const { title, children, save, action, isDangerous = false, isShownOnce = false, width, close } = props
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
    <Dialog title={title} width={width} canLose={save !== undefined || isShownOnce} close={close}>
      <DialogForm onSubmit={submit}>
        {children}
        <DialogFoot>
          {typeof state === 'object' && <ErrorMessage error={state.error} />}
          <Toolbar align="end">
            <DialogClose>{t(save ? 'page.cancel' : 'app.close')}</DialogClose>
            {save && (
              <Button type="submit" kind={isDangerous ? 'danger' : 'primary'} disabled={state === 'working'}>
                {action ?? t('app.save')}
              </Button>
            )}
          </Toolbar>
        </DialogFoot>
      </DialogForm>
    </Dialog>
  )
}
