import { type FormEvent, useState } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { useChatActions } from './chat-state.ts'
import type { OpenedMessage } from './message-content.ts'

/** Asks a question in other words. The earlier one stays, as another version. */
export function QuestionEditor({ message, close }: { message: OpenedMessage; close: () => void }) {
  const { resend } = useChatActions()
  const [text, setText] = useState(message.answer.text)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    await resend(message.number, text.trim()).then(close, setError)
  }
  return (
    <form className="question-editor" onSubmit={submit}>
      <textarea
        className="text-field"
        dir="auto"
        aria-label={t('app.message.edit')}
        value={text}
        // The person has just asked to write here.
        ref={(field) => field?.focus()}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && close()}
      />
      {message.attachments.length > 0 && <p className="hint">{t('app.message.editFiles')}</p>}
      {error !== undefined && (
        <p className="wrong" role="alert">
          {errorText(error)}
        </p>
      )}
      <p className="actions">
        <button type="button" className="quiet-button" onClick={close}>
          {t('page.cancel')}
        </button>
        <button type="submit" className="button" disabled={text.trim() === ''}>
          {t('app.message.resend')}
        </button>
      </p>
    </form>
  )
}
