import { lazy, Suspense, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { ChatOptionsProps } from './chat-options-dialog.tsx'

const ChatOptionsDialog = lazy(async () => ({ default: (await import('./chat-options-dialog.tsx')).ChatOptionsDialog }))

/** Opens how a conversation is led. */
export function ChatOptionsButton(props: ChatOptionsProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton icon="settings" label={t('app.options')} aria-haspopup="dialog" onClick={() => setOpen(true)} />
      {isOpen && (
        <Suspense>
          <ChatOptionsDialog {...props} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
