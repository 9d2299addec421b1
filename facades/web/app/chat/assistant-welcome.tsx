import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { ASSISTANTS_KEY } from '../shared/models/assistants.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Lead, PagePlaceholder } from '../shared/ui/page.tsx'
import styles from './assistant-welcome.module.css'
import { PrivacyNote, Starters } from './welcome-parts.tsx'

interface AssistantWelcomeProps {
  model: ChatModel
  assistant: NonNullable<ChatModel['assistant']>
  isTemporary: boolean
}

/** Welcomes the person in an empty chat with an assistant, by its greeting and its starters. */
export function AssistantWelcome({ model, assistant, isTemporary }: AssistantWelcomeProps) {
  const { handle, name, description, base } = assistant
  const { data, error } = useQuery({
    queryKey: [ASSISTANTS_KEY, 'one', handle],
    queryFn: ({ signal }) => api.assistants.get.query({ handle }, { signal }),
  })
  const greeting = data?.greeting || description
  return (
    <PagePlaceholder>
      <Lead>{name}</Lead>
      {greeting !== '' && (
        <div className={styles.greeting} dir="auto">
          <Markdown text={greeting} />
        </div>
      )}
      {data && data.detailDescription !== '' && (
        <details className={styles.details}>
          <summary>{t('app.assistants.details')}</summary>
          <div dir="auto">
            <Markdown text={data.detailDescription} />
          </div>
        </details>
      )}
      <ErrorNotice error={error} />
      <Starters starters={data?.starters ?? []} />
      <PrivacyNote model={{ ...base, label: model.label }} isTemporary={isTemporary} />
      <p className={styles.facts}>{describeFixed(assistant)}</p>
    </PagePlaceholder>
  )
}

/** Says what the assistant decides for each answer. */
export function describeFixed({ owner, base, parameters }: AssistantWelcomeProps['assistant']): string {
  const { temperature, topP, maxTokens } = parameters
  return [
    t(owner === null ? 'app.assistants.ofHouse' : 'app.assistants.ofPerson', { name: owner ?? '' }),
    t('app.assistants.fixesModel', { model: base.label }),
    temperature !== undefined && t('app.assistants.fixesTemperature', { value: temperature }),
    topP !== undefined && t('app.assistants.fixesTopP', { value: topP }),
    maxTokens !== undefined && t('app.assistants.fixesLength', { value: maxTokens }),
  ]
    .filter((sentence) => sentence !== false)
    .join(' ')
}
