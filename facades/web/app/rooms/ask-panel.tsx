import { useId } from 'react'
import { ModelButton } from '../shared/models/model-button.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { type Disclosed, LAST_MESSAGES } from './ask-model.ts'

interface AskPanelProps {
  models: readonly ChatModel[] | undefined
  model: ChatModel | undefined
  choose: (modelId: string) => void
  scope: Disclosed['scope']
  setScope: (scope: Disclosed['scope']) => void
  withFiles: boolean
  setWithFiles: (withFiles: boolean) => void
  disclosed: Disclosed
  hasThread: boolean
}

const scopeLabels = {
  message: 'app.rooms.ask.message',
  thread: 'app.rooms.ask.thread',
  last: 'app.rooms.ask.last',
} as const

/** Shows before sending what a model will be given, and has the person choose. */
export function AskPanel(props: AskPanelProps) {
  const { models, model, choose, scope, setScope, withFiles, setWithFiles, disclosed, hasThread } = props
  const id = useId()
  const scopes = hasThread ? (['message', 'thread', 'last'] as const) : (['message', 'last'] as const)
  return (
    <fieldset className="ask-panel">
      <legend className="off-screen">{t('app.rooms.ask')}</legend>
      <p>
        {t('app.rooms.ask')} <ModelButton models={models} model={model} choose={choose} />
        {model && <span className="hint">{model.providerName}</span>}
      </p>
      {scopes.map((each) => (
        <label key={each} className="choice">
          <input type="radio" name={id} checked={scope === each} onChange={() => setScope(each)} />
          {t(scopeLabels[each], { count: LAST_MESSAGES })}
        </label>
      ))}
      {disclosed.files.length > 0 || !withFiles ? (
        <label className="choice">
          <input type="checkbox" checked={withFiles} onChange={({ target }) => setWithFiles(target.checked)} />
          {t('app.rooms.ask.files')}
          <span className="hint">{disclosed.files.map(({ name }) => name).join(', ')}</span>
        </label>
      ) : null}
      <p className="hint">
        {t('app.rooms.ask.size', { count: disclosed.messages.length + 1, tokens: disclosed.tokens })}
      </p>
    </fieldset>
  )
}
