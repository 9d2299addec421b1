import { useState } from 'react'
import { joinTexts } from '../shared/conversation/answer-segments.ts'
import { insertQuotation } from '../shared/conversation/composer.tsx'
import { MessageActions } from '../shared/conversation/message-actions.tsx'
import { PickerButton } from '../shared/models/model-button.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { formatTimestamp } from '../shared/text/formats.ts'
import { language, t } from '../shared/text/labels.ts'
import { joinClasses } from '../shared/ui/class-names.ts'
import { CopyButton } from '../shared/ui/copy-button.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { IconButton, iconButtonClass } from '../shared/ui/icon-button.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import type { PathStep } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import type { OpenedMessage } from './message-content.ts'
import { readAloud, useCanReadAloud } from './read-aloud.ts'
import styles from './step-actions.module.css'

interface StepActionsProps {
  step: PathStep
  models: readonly ChatModel[]
  edit?: () => void
}

/** The buttons below a message. */
export function StepActions({ step, models, edit }: StepActionsProps) {
  const { message } = step
  return (
    <MessageActions>
      <Versions step={step} />
      <CopyButton text={joinTexts(message.answer)} label={t('app.message.copy')} />
      {edit ? (
        <IconButton icon="edit" label={t('app.message.edit')} onClick={edit} />
      ) : (
        <AnswerMenu message={message} models={models} />
      )}
    </MessageActions>
  )
}

/** Steps through the versions of a message. */
export function Versions({ step: { message, versions } }: { step: PathStep }) {
  const { chooseVersion } = useChatActions()
  if (versions.length < 2) return null
  const index = versions.indexOf(message.number)
  const show = (at: number) => chooseVersion(versions[at] ?? message.number)
  return (
    <fieldset className={styles.versions} aria-label={t('app.versions')}>
      <IconButton
        icon="previous"
        label={t('app.versions.previous')}
        disabled={index === 0}
        onClick={() => show(index - 1)}
      />
      <span>{t('app.versions.position', { position: index + 1, all: versions.length })}</span>
      <IconButton
        icon="next"
        label={t('app.versions.next')}
        disabled={index === versions.length - 1}
        onClick={() => show(index + 1)}
      />
    </fieldset>
  )
}

function AnswerMenu({ message, models }: { message: OpenedMessage; models: readonly ChatModel[] }) {
  const { regenerate } = useChatActions()
  const canReadAloud = useCanReadAloud()
  const [error, setError] = useState<unknown>()
  const { answer } = message
  const requestAnother = (modelId?: string) => {
    setError(undefined)
    regenerate(message, modelId).catch(setError)
  }
  const others = models.filter(({ modelId }) => modelId !== message.model)
  const items: MenuEntry[] = [
    { icon: 'quote', label: t('app.message.quote'), choose: () => insertQuotation('chat', joinTexts(answer)) },
  ]
  if (canReadAloud)
    items.push({ icon: 'speak', label: t('app.message.readAloud'), choose: () => void readAloud(joinTexts(answer)) })
  return (
    <>
      <IconButton icon="repeat" label={t('app.message.regenerate')} onClick={() => requestAnother()} />
      {others.length > 0 && (
        <PickerButton
          models={others}
          model={undefined}
          choose={requestAnother}
          label={t('app.message.regenerateWith')}
          className={joinClasses(iconButtonClass, styles.other)}
        >
          <Icon name="chevron" />
        </PickerButton>
      )}
      <MenuButton label={t('app.message.more')} items={items} note={<MessageFacts message={message} />} />
      <InlineError error={error} />
    </>
  )
}

/** The time of the message, its tokens and its cost. */
const MessageFacts = ({ message: { updatedAt, answer } }: { message: OpenedMessage }) => (
  <>
    {formatTimestamp(new Date(updatedAt))}
    {answer.usage && (
      <>
        <br />
        <UsageFacts usage={answer.usage} />
      </>
    )}
  </>
)

/** The tokens of an answer, those of them that the provider's cache had or got, and the cost. */
export const UsageFacts = ({ usage }: { usage: NonNullable<OpenedMessage['answer']['usage']> }) => (
  <>
    {t('app.message.tokens', { input: usage.inputTokens, output: usage.outputTokens })}
    {usage.cost && `, ${formatCost(usage.cost)}`}
    {usage.cachedTokens > 0 && (
      <>
        <br />
        {t('app.message.cachedTokens', { count: usage.cachedTokens })}
      </>
    )}
    {!!usage.cacheWriteTokens && (
      <>
        <br />
        {t('app.message.cacheWriteTokens', { count: usage.cacheWriteTokens })}
      </>
    )}
  </>
)

const MICRO = 1_000_000

/** Formats a cost with three significant digits, as most are tiny. */
const formatCost = ({ micros, currency }: { micros: number; currency: string }) =>
  new Intl.NumberFormat(language, { style: 'currency', currency, maximumSignificantDigits: 3 }).format(micros / MICRO)
