import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { Confirmation } from './confirm-dialog.tsx'

export type { Confirmation }

const ConfirmDialog = lazy(async () => ({ default: (await import('./confirm-dialog.tsx')).ConfirmDialog }))

interface ConfirmButtonProps {
  className: string
  /** The accessible name, where the words alone do not say what the button is about. */
  label?: string
  /** The question that is asked first; without one the button acts at once. */
  question: Confirmation | undefined
  act: () => unknown
  children: ReactNode
}

/** A button that asks for confirmation. */
export function ConfirmButton({ className, label, question, act, children }: ConfirmButtonProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <button
        type="button"
        className={className}
        aria-label={label}
        onClick={() => (question ? setAsking(true) : act())}
      >
        {children}
      </button>
      {isAsking && question && (
        <Suspense>
          <ConfirmDialog {...question} confirm={act} close={() => setAsking(false)} />
        </Suspense>
      )}
    </>
  )
}
