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
  /** The record to change. */
  record?: VersionedRecord
  /**
   * Makes the change with the values of the fields, on the condition that the record is still the one that the dialog
   * was opened with. Without `act`, the dialog can only be closed.
   */
  act?: ((form: FormData, condition: VersionCondition) => Promise<unknown>) | undefined
  close: () => void
}

interface VersionedRecord {
  rowVersion?: string
}

/** The condition that a record has not changed since it was read. */
export interface VersionCondition {
  ifVersion?: string
}

const toVersionCondition = ({ rowVersion }: VersionedRecord = {}): VersionCondition =>
  rowVersion === undefined ? {} : { ifVersion: rowVersion }

/** A dialog that asks before a change. Errors are shown, and the fields keep their values. */
function ActionDialog({ text, children, record, act, ...rest }: ActionDialogProps) {
  // The record is read again while the dialog is open, but the fields keep their first values.
  const [condition] = useState(() => toVersionCondition(record))
  return (
    <FormDialog {...rest} {...(act && { save: (form: FormData) => runMutation(() => act(form, condition)) })}>
      {text && <p>{text}</p>}
      {children}
      <FreshSessionDialog />
    </FormDialog>
  )
}

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
