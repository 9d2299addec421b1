import { lazy, Suspense } from 'react'
import type { NameDialogProps } from './name-form-dialog.tsx'

const NameFormDialog = lazy(async () => ({ default: (await import('./name-form-dialog.tsx')).NameFormDialog }))

/** Asks for a name. The form loads on first use. */
export const NameDialog = (props: NameDialogProps) => (
  <Suspense>
    <NameFormDialog {...props} />
  </Suspense>
)
