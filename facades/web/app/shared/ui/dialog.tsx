import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import type { ComponentProps, ReactNode } from 'react'
import { Button, type ButtonProps } from './button.tsx'
import styles from './dialog.module.css'

export type DialogWidth = 'normal' | 'wide' | 'full' | 'window'

interface DialogPopupProps {
  title: ReactNode
  width?: DialogWidth | undefined
  children: ReactNode
}

/** The window of a dialog, with its title, over a dimmed page. */
export const DialogPopup = ({ title, width = 'normal', children }: DialogPopupProps) => (
  <BaseDialog.Portal>
    <DialogBackdrop />
    <BaseDialog.Popup className={styles[width]}>
      <BaseDialog.Title className={styles.title}>{title}</BaseDialog.Title>
      {children}
    </BaseDialog.Popup>
  </BaseDialog.Portal>
)

export const DialogBackdrop = () => <BaseDialog.Backdrop className={styles.backdrop} />

/** A sentence that is read out when the dialog opens. */
export const DialogText = (props: BaseDialog.Description.Props) => <BaseDialog.Description {...props} />

/** A form in a dialog. */
export const DialogForm = (props: ComponentProps<'form'>) => <form className={styles.form} {...props} />

/** The end of a form, which stays in sight while what is above it scrolls. */
export const DialogFoot = (props: ComponentProps<'div'>) => <div className={styles.foot} {...props} />

/** A button that closes the dialog. */
export const DialogClose = ({ kind, ...rest }: ButtonProps) => (
  <BaseDialog.Close render={<Button kind={kind} {...rest} />} />
)

interface DialogProps extends DialogPopupProps {
  /** An alert is closed by its buttons alone. */
  isAlert?: boolean
  /** A click beside the dialog does not close it, as that would lose what was typed, or is shown only once. */
  canLose?: boolean
  /** Without it, the person cannot close the dialog. */
  close?: () => void
}

/** A dialog that is open while it is mounted. */
export function Dialog({ isAlert = false, canLose = false, close, ...popup }: DialogProps) {
  const onOpenChange = (isOpen: boolean) => !isOpen && close?.()
  return isAlert ? (
    <AlertDialog.Root open onOpenChange={onOpenChange}>
      <DialogPopup {...popup} />
    </AlertDialog.Root>
  ) : (
    <BaseDialog.Root open disablePointerDismissal={canLose} onOpenChange={onOpenChange}>
      <DialogPopup {...popup} />
    </BaseDialog.Root>
  )
}
