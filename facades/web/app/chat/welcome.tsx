import { lazy, Suspense } from 'react'
import { type ChatModel, DEMO_MODEL } from '../shared/models/models.ts'
import { siteName } from '../shared/site.ts'
import { t } from '../shared/text/labels.ts'
import { Lead, PagePlaceholder } from '../shared/ui/page.tsx'
import { PrivacyNote, Starters } from './welcome-parts.tsx'

const MAX_STARTERS = 6

interface WelcomeProps {
  model: ChatModel | undefined
  /** True if the chat will not be stored. */
  isTemporary: boolean
}

/** Welcomes the person in an empty chat, with beginnings of questions and with what the chosen model reads. */
export const Welcome = ({ model, isTemporary }: WelcomeProps) =>
  model?.assistant ? (
    <Suspense fallback={<PagePlaceholder>{null}</PagePlaceholder>}>
      <AssistantWelcome key={model.modelId} model={model} assistant={model.assistant} isTemporary={isTemporary} />
    </Suspense>
  ) : (
    <HouseWelcome model={model} isTemporary={isTemporary} />
  )

const AssistantWelcome = lazy(async () => ({ default: (await import('./assistant-welcome.tsx')).AssistantWelcome }))

const HouseWelcome = ({ model, isTemporary }: WelcomeProps) => (
  <PagePlaceholder>
    <Lead>{t('app.chat.welcome', { name: siteName })}</Lead>
    <p>{t('app.chat.empty')}</p>
    <Starters starters={listStarters(model)} />
    {model && <PrivacyNote model={model} isTemporary={isTemporary} />}
  </PagePlaceholder>
)

/** The starters of this installation: the lines of a label. */
const listStarters = (model: ChatModel | undefined): string[] =>
  t(model?.modelId === DEMO_MODEL ? 'app.chat.demo' : 'app.chat.starters')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, MAX_STARTERS)
