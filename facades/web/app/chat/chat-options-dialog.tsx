import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, useState } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { errorText } from '../shared/api/error-text.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { conversationKey } from './conversations.ts'
import { type ChatOptions, useOptions, writeOptions } from './options.ts'

export interface ChatOptionsProps {
  /** Of the conversation; undefined where it is still to be created. */
  slug: string | undefined
  systemPrompt: string
}

/** How a conversation is led. */
export function ChatOptionsDialog({ slug, systemPrompt, close }: ChatOptionsProps & { close: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{t('app.options')}</Dialog.Title>
          <OptionsForm slug={slug} systemPrompt={systemPrompt} close={close} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

const efforts = ['low', 'medium', 'high'] as const
const levels = ['', ...efforts] as const

function OptionsForm({ slug, systemPrompt, close }: ChatOptionsProps & { close: () => void }) {
  const { conversationKey: key } = useSession()
  const options = useOptions(slug)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    writeOptions(slug, optionsIn(form))
    const prompt = String(form.get('prompt') ?? '').trim()
    try {
      if (slug !== undefined && prompt !== systemPrompt) {
        const sealed = prompt === '' ? null : await key.seal(prompt)
        queryClient.setQueryData(
          conversationKey(slug),
          await api.conversations.update.mutate({ slug, systemPrompt: sealed }),
        )
      }
      close()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <form className="options" onSubmit={submit}>
      {slug !== undefined && (
        <div className="field">
          <label htmlFor="system-prompt">{t('app.options.prompt')}</label>
          <textarea
            id="system-prompt"
            name="prompt"
            rows={4}
            maxLength={50_000}
            dir="auto"
            defaultValue={systemPrompt}
          />
        </div>
      )}
      <ParameterFields options={options} />
      {error !== undefined && (
        <p className="wrong" role="alert">
          {errorText(error)}
        </p>
      )}
      <p className="actions">
        <Dialog.Close className="quiet-button">{t('page.cancel')}</Dialog.Close>
        <button type="submit" className="button">
          {t('app.save')}
        </button>
      </p>
    </form>
  )
}

const ParameterFields = ({ options: { parameters, areToolsOff } }: { options: ChatOptions }) => (
  <>
    <div className="field">
      <label htmlFor="temperature">{t('app.options.temperature')}</label>
      <input
        id="temperature"
        name="temperature"
        type="number"
        min={0}
        max={2}
        step={0.1}
        placeholder={t('app.options.usual')}
        defaultValue={parameters.temperature}
      />
    </div>
    <div className="field">
      <label htmlFor="effort">{t('app.options.effort')}</label>
      <select id="effort" name="effort" defaultValue={parameters.effort ?? ''}>
        {levels.map((level) => (
          <option key={level} value={level}>
            {t(effortLabels[level])}
          </option>
        ))}
      </select>
    </div>
    <label className="choice">
      <input type="checkbox" name="tools" defaultChecked={!areToolsOff} />
      {t('app.options.tools')}
    </label>
  </>
)

const effortLabels = {
  '': 'app.options.usual',
  low: 'app.options.effortLow',
  medium: 'app.options.effortMedium',
  high: 'app.options.effortHigh',
} as const

/** What stands in the form; what is left empty is up to the model. */
function optionsIn(form: FormData): ChatOptions {
  const temperature = String(form.get('temperature') ?? '')
  const effort = efforts.find((level) => level === form.get('effort'))
  return {
    parameters: { ...(temperature !== '' && { temperature: Number(temperature) }), ...(effort && { effort }) },
    areToolsOff: form.get('tools') === null,
  }
}
