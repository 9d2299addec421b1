import { type FormEvent, type KeyboardEvent, useRef, useState } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'

interface ComposerProps {
  /** Of the conversation; undefined where it is still to be created. */
  slug: string | undefined
  canSend: boolean
  isAnswering?: boolean
  send: (text: string) => Promise<void>
  stop?: () => void
}

/** Where a question is written. */
export function Composer({ canSend, isAnswering = false, send, stop }: ComposerProps) {
  const [text, setText] = useState('')
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const form = useRef<HTMLFormElement>(null)
  const mayComposeSend = canSend && !isAnswering && state !== 'sending' && text.trim() !== ''

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!mayComposeSend) return
    setState('sending')
    try {
      await send(text.trim())
      setText('')
      setState('ready')
    } catch (error) {
      setState({ error })
    }
  }
  return (
    <form className="composer" ref={form} onSubmit={submit}>
      {typeof state === 'object' && (
        <p className="notice wrong" role="alert">
          {errorText(state.error)}
        </p>
      )}
      <div className="composer-field">
        <textarea
          rows={1}
          dir="auto"
          value={text}
          aria-label={t('app.composer.message')}
          placeholder={t('app.composer.placeholder')}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => sendByKey(event, form.current)}
        />
        {isAnswering ? (
          <IconButton icon="stop" label={t('app.composer.stop')} className="primary" onClick={stop} />
        ) : (
          <IconButton
            icon="arrowUp"
            label={t('app.composer.send')}
            className="primary"
            type="submit"
            disabled={!mayComposeSend}
          />
        )}
      </div>
    </form>
  )
}

/** Sends by Enter, but not by the one that ends the input of a character by an editor of the system. */
function sendByKey(event: KeyboardEvent, form: HTMLFormElement | null): void {
  const { key, shiftKey, nativeEvent } = event
  if (key !== 'Enter' || shiftKey || nativeEvent.isComposing || nativeEvent.keyCode === 229) return
  event.preventDefault()
  form?.requestSubmit()
}
