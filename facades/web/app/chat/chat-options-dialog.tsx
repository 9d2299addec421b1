import { api, queryClient } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { type ChatOptions, getOptionsId, useOptions, writeOptions } from './chat-options.ts'
import { getConversationQueryKey } from './conversations.ts'

export interface ChatOptionsProps {
  /** The conversation; undefined before it is created. */
  slug: string | undefined
  /** The system prompt; undefined if it can't be decrypted. */
  systemPrompt: string | undefined
}

const efforts = ['low', 'medium', 'high'] as const
const levels = ['', ...efforts] as const

/** Edits the system prompt and the parameters of a conversation. */
export function ChatOptionsDialog({ slug, systemPrompt, close }: ChatOptionsProps & { close: () => void }) {
  const { connection, conversationKey: key } = useSession()
  const optionsId = getOptionsId(String(connection.userinfo?.id), slug)
  const options = useOptions(optionsId)
  const save = async (form: FormData) => {
    writeOptions(optionsId, readOptionsForm(form))
    const prompt = String(form.get('prompt') ?? '').trim()
    if (slug === undefined || prompt === systemPrompt) return
    const sealed = prompt === '' ? null : await key.seal(prompt)
    queryClient.setQueryData(
      getConversationQueryKey(slug),
      await api.conversations.update.mutate({ slug, systemPrompt: sealed }),
    )
  }
  return (
    <FormDialog title={t('app.options')} save={save} close={close}>
      {slug !== undefined && (
        <div className="field">
          <label htmlFor="system-prompt">{t('app.options.prompt')}</label>
          <textarea
            id="system-prompt"
            name="prompt"
            rows={4}
            maxLength={50_000}
            dir="auto"
            defaultValue={systemPrompt ?? ''}
          />
        </div>
      )}
      <ParameterFields options={options} />
    </FormDialog>
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

/** Reads the form. Empty fields leave the parameter to the model. */
function readOptionsForm(form: FormData): ChatOptions {
  const temperature = String(form.get('temperature') ?? '')
  const effort = efforts.find((level) => level === form.get('effort'))
  return {
    parameters: { ...(temperature !== '' && { temperature: Number(temperature) }), ...(effort && { effort }) },
    areToolsOff: form.get('tools') === null,
  }
}
