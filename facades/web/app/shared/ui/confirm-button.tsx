import { lazy, type ReactNode, Suspense, useState } from 'react'
import { Button, type ButtonKind } from './button.tsx'
import type { Confirmation } from './confirm-dialog.tsx'

export type { Confirmation }

const ConfirmDialog = lazy(async () => ({ default: (await import('./confirm-dialog.tsx')).ConfirmDialog }))

interface ConfirmButtonProps {
  kind?: ButtonKind
  /** The accessible name, where the words alone do not say what the button is about. */
  label?: string
  /** The question that is asked first; without one the button acts at once. */
  confirmation: Confirmation | undefined
  act: () => unknown
  children: ReactNode
}

/** A button that asks for confirmation. */
export function ConfirmButton({ kind, label, confirmation, act, children }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button kind={kind} aria-label={label} onClick={() => (confirmation ? setOpen(true) : act())}>
        {children}
      </Button>
      {isOpen && confirmation && (
        <Suspense>
          <ConfirmDialog {...confirmation} confirm={act} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
