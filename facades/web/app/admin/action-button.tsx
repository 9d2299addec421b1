import { type ReactNode, useState } from 'react'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { runMutation } from './admin-queries.ts'
import { FreshSessionDialog } from './fresh-session.tsx'

interface ActionDialogProps {
  title: string
  /** A sentence about the consequences, in particular those that cannot be undone. */
  text?: string
  children?: ReactNode
  action: string
  isDangerous?: boolean
  /** Makes the change with the values of the fields. */
  act: (form: FormData) => Promise<unknown>
  close: () => void
}

/** A dialog that asks before a change. Errors are shown, and the fields keep their values. */
const ActionDialog = ({ text, children, act, ...rest }: ActionDialogProps) => (
  <FormDialog {...rest} save={(form) => runMutation(() => act(form))}>
    {text && <p>{text}</p>}
    {children}
    <FreshSessionDialog />
  </FormDialog>
)

/** A button that asks for confirmation. */
export function ActionButton({
  label,
  className = 'quiet-button',
  ...dialog
}: { label: string; className?: string } & Omit<ActionDialogProps, 'close'>) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className={dialog.isDangerous ? 'danger-button' : className} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && <ActionDialog {...dialog} close={() => setOpen(false)} />}
    </>
  )
}
