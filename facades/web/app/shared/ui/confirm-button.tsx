import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { Confirmation } from './confirm-dialog.tsx'

export type { Confirmation }

const ConfirmDialog = lazy(async () => ({ default: (await import('./confirm-dialog.tsx')).ConfirmDialog }))

interface ConfirmButtonProps {
  className: string
  /** The accessible name, where the words alone do not say what the button is about. */
  label?: string
  /** The question that is asked first; without one the button acts at once. */
  confirmation: Confirmation | undefined
  act: () => unknown
  children: ReactNode
}

/** A button that asks for confirmation. */
export function ConfirmButton({ className, label, confirmation, act, children }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className={className}
        aria-label={label}
        onClick={() => (confirmation ? setOpen(true) : act())}
      >
        {children}
      </button>
      {isOpen && confirmation && (
        <Suspense>
          <ConfirmDialog {...confirmation} confirm={act} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
