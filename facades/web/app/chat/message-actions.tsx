import { useState } from 'react'
import { insertQuotation } from '../shared/conversation/composer.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { formatTimestamp } from '../shared/text/formats.ts'
import { language, t } from '../shared/text/labels.ts'
import { CopyButton } from '../shared/ui/copy-button.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import type { PathStep } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import type { OpenedMessage } from './message-content.ts'

interface MessageActionsProps {
  step: PathStep
  models: readonly ChatModel[]
  edit?: () => void
}

/** The buttons below a message. */
export function MessageActions({ step, models, edit }: MessageActionsProps) {
  const { message } = step
  return (
    <div className="message-actions">
      <Versions step={step} />
      <CopyButton text={message.answer.text} label={t('app.message.copy')} />
      {edit ? (
        <IconButton icon="edit" label={t('app.message.edit')} onClick={edit} />
      ) : (
        <AnswerMenu message={message} models={models} />
      )}
    </div>
  )
}

/** Steps through the versions of a message. */
function Versions({ step: { message, versions, parentNumber } }: { step: PathStep }) {
  const { chooseVersion } = useChatActions()
  if (versions.length < 2) return null
  const index = versions.indexOf(message.number)
  const show = (at: number) => chooseVersion(versions[at] ?? message.number, parentNumber)
  return (
    <fieldset className="versions" aria-label={t('app.versions')}>
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
  const [error, setError] = useState<unknown>()
  const { answer } = message
  const requestAnother = (modelId?: string) => {
    setError(undefined)
    regenerate(message, modelId).catch(setError)
  }
  const others = models.filter(({ modelId }) => modelId !== message.model).slice(0, MAX_OTHERS)
  const items: MenuEntry[] = [
    { icon: 'quote', label: t('app.message.quote'), choose: () => insertQuotation('chat', answer.text) },
    { icon: 'speak', label: t('app.message.readAloud'), choose: () => readAloud(answer.text) },
    ...others.map(
      ({ modelId, label }): MenuEntry => ({
        icon: 'repeat',
        label: t('app.message.regenerateWith', { model: label }),
        choose: () => requestAnother(modelId),
      }),
    ),
  ]
  return (
    <>
      <IconButton icon="repeat" label={t('app.message.regenerate')} onClick={() => requestAnother()} />
      <MenuButton label={t('app.message.more')} items={items} note={<MessageFacts message={message} />} />
      <InlineError error={error} />
    </>
  )
}

/** The most other models in the menu; more would need a searchable list. */
const MAX_OTHERS = 8

/** The time of the message, its tokens and its cost. */
const MessageFacts = ({ message: { updatedAt, answer } }: { message: OpenedMessage }) => (
  <>
    {formatTimestamp(new Date(updatedAt))}
    {answer.usage && (
      <>
        <br />
        {t('app.message.tokens', { input: answer.usage.inputTokens, output: answer.usage.outputTokens })}
        {answer.usage.cost && `, ${formatCost(answer.usage.cost)}`}
      </>
    )}
  </>
)

const MICRO = 1_000_000

/** Formats a cost with three significant digits, as most are tiny. */
const formatCost = ({ micros, currency }: { micros: number; currency: string }) =>
  new Intl.NumberFormat(language, { style: 'currency', currency, maximumSignificantDigits: 3 }).format(micros / MICRO)

/** Reads a text aloud with the voice of the browser, or stops reading. */
function readAloud(text: string): void {
  const { speechSynthesis } = window
  const isReading = speechSynthesis.speaking
  speechSynthesis.cancel()
  if (isReading) return
  const plain = text.replace(/```[\s\S]*?```/g, '').replace(/[*_#>`|]/g, '')
  speechSynthesis.speak(new SpeechSynthesisUtterance(plain))
}
