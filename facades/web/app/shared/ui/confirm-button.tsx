import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { Confirmation } from './confirm-dialog.tsx'

export type { Confirmation }

/** Loaded when the first question is asked. */
const ConfirmDialog = lazy(async () => ({ default: (await import('./confirm-dialog.tsx')).ConfirmDialog }))

interface ConfirmButtonProps {
  className: string
  /** Its name for screen readers, where its words alone do not tell of what it is. */
  label?: string
  /** Asked before it acts; without one it acts at once. */
  question: Confirmation | undefined
  act: () => unknown
  children: ReactNode
}

/** A button for what cannot be undone. */
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
