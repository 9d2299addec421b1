import { type ComponentProps, type ReactNode, useState } from 'react'
import { FreshSessionDialog } from '../shared/fresh-session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button, type ButtonKind } from '../shared/ui/button.tsx'
import type { DialogWidth } from '../shared/ui/dialog.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { runMutation } from './admin-queries.ts'

interface ActionDialogProps {
  title: string
  /** A sentence about the consequences, in particular those that cannot be undone. */
  text?: string
  children?: ReactNode
  action: string
  isDangerous?: boolean
  width?: DialogWidth
  /** The record to change, with its version if it has one. */
  record?: object
  /**
   * Makes the change with the values of the fields, on the condition that the record is still the one that the dialog
   * was opened with. Without `act`, the dialog can only be closed.
   */
  act?: ((form: FormData, condition: VersionCondition) => Promise<unknown>) | undefined
  close: () => void
}

/** The condition that a record has not changed since it was read. */
export interface VersionCondition {
  ifVersion?: string
}

const toVersionCondition = (record: object = {}): VersionCondition =>
  'rowVersion' in record && typeof record.rowVersion === 'string' ? { ifVersion: record.rowVersion } : {}

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
  kind,
  ...dialog
}: { label: string; kind?: ButtonKind } & Omit<ActionDialogProps, 'close'>) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button kind={dialog.isDangerous ? 'danger' : kind} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {isOpen && <ActionDialog {...dialog} close={() => setOpen(false)} />}
    </>
  )
}

type ActionButtonProps = ComponentProps<typeof ActionButton>

/** A button that removes something for good. */
export const RemoveButton = (props: Pick<ActionButtonProps, 'title' | 'text' | 'record' | 'act' | 'children'>) => (
  <ActionButton label={t('app.admin.remove')} action={t('app.admin.remove')} isDangerous {...props} />
)

interface SwitchButtonProps extends Pick<ActionButtonProps, 'record'> {
  name: string
  isOn: boolean
  /** The consequences of switching it on, and of switching it off. */
  texts: readonly [on: string, off: string]
  save: (change: { active: boolean }, condition: VersionCondition) => Promise<unknown>
}

/** A button that switches something on or off. */
export const SwitchButton = ({ name, isOn, texts: [onText, offText], record, save }: SwitchButtonProps) => (
  <ActionButton
    label={t(isOn ? 'app.admin.switchOff' : 'app.admin.switchOn')}
    title={t(isOn ? 'app.admin.switchOffOf' : 'app.admin.switchOnOf', { name })}
    text={isOn ? offText : onText}
    action={t(isOn ? 'app.admin.switchOff' : 'app.admin.switchOn')}
    isDangerous={isOn}
    {...(record && { record })}
    act={(_form, condition) => save({ active: !isOn }, condition)}
  />
)
