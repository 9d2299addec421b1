import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import type { Assistant } from '../shared/api/client.ts'
import { refreshAssistants } from '../shared/models/assistants.ts'
import { t } from '../shared/text/labels.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { useCopy } from '../shared/ui/copy-button.tsx'
import { ErrorMessage, InlineError } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import styles from './assistant-card.module.css'
import { buildDeletion, buildLeaving, type Ending } from './endings.ts'

const ConfirmDialog = lazy(async () => ({ default: (await import('../shared/ui/confirm-dialog.tsx')).ConfirmDialog }))
const RemixDialog = lazy(async () => ({ default: (await import('./remix-dialog.tsx')).RemixDialog }))

interface AssistantCardProps {
  assistant: Assistant
  /** True if none of its own models may be asked. */
  isOff: boolean
  /** Marks it as a favourite, or no longer. */
  toggle: () => void
  /** The failure of that. */
  error: unknown
}

/** An assistant in the gallery. */
export function AssistantCard({ assistant, isOff, toggle, error }: AssistantCardProps) {
  const { handle, name, description, owner, published, latest, avatar, isFavorite, allowModelSelect } = assistant
  return (
    <li className={styles.card}>
      <div className={styles.head}>
        <Avatar name={name} picture={avatar} />
        <div className={styles.names}>
          <h3 dir="auto">{name}</h3>
          <p className="hint">
            @{handle} · {owner ?? t('app.assistants.house')}
          </p>
        </div>
        <IconButton
          icon="star"
          className={joinClasses(styles.star, isFavorite && styles.marked)}
          label={t('app.assistants.favourite', { name })}
          aria-pressed={isFavorite}
          onClick={toggle}
        />
      </div>
      <ErrorMessage error={error} />
      <p className={styles.description} dir="auto">
        {description || t('app.assistants.noDescription')}
      </p>
      {listStates(assistant, isOff).map((key) => (
        <p key={key} className={joinClasses('hint', styles.state)}>
          {t(key)}
        </p>
      ))}
      <div className={styles.actions}>
        {(!isOff || allowModelSelect) && (
          <Link
            to="/chat"
            search={{ assistant: published === null ? `${handle}@${latest}` : handle }}
            className={getButtonClass()}
            aria-label={t(published === null ? 'app.assistants.tryNamed' : 'app.assistants.askNamed', { name })}
          >
            {t(published === null ? 'app.assistants.try' : 'app.assistants.ask')}
          </Link>
        )}
        <CardMenu assistant={assistant} />
      </div>
    </li>
  )
}

/** Returns the labels of the sentences that say who does not get it yet, and why it cannot answer. */
const listStates = ({ waiting, published, allowModelSelect }: Assistant, isOff: boolean) => [
  ...(waiting !== null ? ['app.assistants.isWaiting'] : published === null ? ['app.assistants.isDraft'] : []),
  ...(isOff ? [allowModelSelect ? 'app.assistants.isOffChoose' : 'app.assistants.isOff'] : []),
]

/** Lists what the person may do with an assistant. */
function listEntries(assistant: Assistant, open: (dialog: CardDialog) => void, copyLink: () => void): MenuEntry[] {
  const { handle, isOwner, mayEdit, mayRemix } = assistant
  const params = { handle }
  const edit = <Link to="/assistants/$handle/edit" params={params} />
  const history = <Link to="/assistants/$handle/history" params={params} />
  const end = () => open(isOwner ? buildDeletion(assistant) : buildLeaving(assistant))
  const entries: [boolean, MenuEntry][] = [
    [mayEdit, { icon: 'edit', label: t('app.assistants.edit'), link: edit }],
    [mayEdit, { icon: 'later', label: t('app.assistants.history'), link: history }],
    [mayRemix, { icon: 'copy', label: t('app.assistants.remix'), choose: () => open('remix') }],
    [true, { icon: 'link', label: t('app.assistants.copyLink'), choose: copyLink }],
    [mayEdit && !isOwner, { icon: 'signOut', label: t('app.assistants.leave'), choose: end }],
    [isOwner, { icon: 'trash', label: t('app.delete'), isDangerous: true, choose: end }],
  ]
  return entries.flatMap(([isOffered, entry]) => (isOffered ? [entry] : []))
}

type CardDialog = Ending | 'remix'

function CardMenu({ assistant }: { assistant: Assistant }) {
  const { handle, name } = assistant
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<CardDialog>()
  const [error, setError] = useState<unknown>()
  const { isCopied, error: copyError, copy } = useCopy()
  const copyLink = () => copy(`${location.origin}/chat?assistant=${handle}`)
  const close = () => setDialog(undefined)
  return (
    <>
      <MenuButton label={t('app.assistants.more', { name })} items={listEntries(assistant, setDialog, copyLink)} />
      <span className="hint" role="status">
        {isCopied && t('app.linkCopied')}
      </span>
      <InlineError error={copyError ?? error} />
      <Suspense>
        {dialog === 'remix' && (
          <RemixDialog
            assistant={assistant}
            close={close}
            show={(copy) => void navigate({ to: '/assistants/$handle/edit', params: { handle: copy } })}
          />
        )}
        {typeof dialog === 'object' && (
          <ConfirmDialog
            {...dialog}
            confirm={() => dialog.act().then(refreshAssistants).catch(setError)}
            close={close}
          />
        )}
      </Suspense>
    </>
  )
}
