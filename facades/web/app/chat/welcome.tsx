import { insertText } from '../shared/conversation/composer.tsx'
import { type ChatModel, DEMO_MODEL } from '../shared/models/models.ts'
import { siteName } from '../shared/site.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { Lead, PagePlaceholder } from '../shared/ui/page.tsx'
import styles from './welcome.module.css'

const MAX_STARTERS = 6

interface WelcomeProps {
  model: ChatModel | undefined
  /** True if the chat will not be stored. */
  isTemporary: boolean
}

/** Welcomes the person in an empty chat, with beginnings of questions and with what the chosen model reads. */
export const Welcome = ({ model, isTemporary }: WelcomeProps) => (
  <PagePlaceholder>
    <Lead>{t('app.chat.welcome', { name: siteName })}</Lead>
    <p>{t('app.chat.empty')}</p>
    <div className={styles.starters}>
      {listStarters(model).map((starter) => (
        <Button key={starter} className={styles.starter} onClick={() => insertText('chat', `${starter} `)}>
          {starter}
        </Button>
      ))}
    </div>
    {model && (
      <p className={styles.privacy}>
        <Icon name="lock" />
        <span>
          {t(isTemporary ? 'app.temporary.privacy' : 'app.chat.privacy', {
            model: model.label,
            provider: model.providerName,
          })}
        </span>
      </p>
    )}
  </PagePlaceholder>
)

/** The starters of this installation: the lines of a label. */
const listStarters = (model: ChatModel | undefined): string[] =>
  t(model?.modelId === DEMO_MODEL ? 'app.chat.demo' : 'app.chat.starters')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, MAX_STARTERS)
