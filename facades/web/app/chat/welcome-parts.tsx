import { insertText } from '../shared/conversation/composer.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import styles from './welcome.module.css'

/** Buttons that put the beginning of a question into the field. */
export const Starters = ({ starters }: { starters: readonly string[] }) => (
  <div className={styles.starters}>
    {starters.map((starter) => (
      <Button key={starter} className={styles.starter} onClick={() => insertText('chat', `${starter} `)}>
        {starter}
      </Button>
    ))}
  </div>
)

/** Says who reads a question. */
export const PrivacyNote = ({ model, isTemporary }: { model: ChatModel; isTemporary: boolean }) => (
  <p className={styles.privacy}>
    <Icon name="lock" />
    <span>
      {t(isTemporary ? 'app.temporary.privacy' : 'app.chat.privacy', {
        model: model.label,
        provider: model.providerName,
      })}
    </span>
  </p>
)
