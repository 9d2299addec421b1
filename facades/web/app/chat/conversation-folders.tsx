import { lazy, type ReactNode, Suspense, useState } from 'react'
import { MoreButton } from '../shared/conversation/message-log.tsx'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Icon, type IconName } from '../shared/ui/icon.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { ListFailure, RowMenu } from '../shared/ui/side-list.tsx'
import styles from './conversation-folders.module.css'
import { ConversationRows, useListAction } from './conversation-row.tsx'
import {
  changeFolder,
  refreshConversations,
  useArchive,
  useFolder,
  useFolders,
  useHasArchive,
  usePinned,
} from './conversations.ts'

/** The pinned conversations, the folders and the archive. */
export function PinnedAndFolders({ onChoose }: { onChoose: () => void }) {
  const [pinned, folders] = [usePinned(), useFolders()]
  return (
    <>
      {pinned.length > 0 && (
        <section>
          <h2>{t('app.conversations.pinned')}</h2>
          <ConversationRows conversations={pinned} onChoose={onChoose} />
        </section>
      )}
      {folders.map((folder) => (
        <Folder key={folder.name} folder={folder} onChoose={onChoose} />
      ))}
      {useHasArchive() && <Archive onChoose={onChoose} />}
    </>
  )
}

const FolderSettingsDialog = lazy(async () => ({
  default: (await import('./folder-settings-dialog.tsx')).FolderSettingsDialog,
}))

interface FolderProps {
  folder: { name: string; count: number }
  onChoose: () => void
}

/** A folder, whose conversations load when it is opened. */
function Folder({ folder: { name, count }, onChoose }: FolderProps) {
  const [isOpen, setOpen] = useState(false)
  const [dialog, setDialog] = useState<'name' | 'settings'>()
  const { conversationKey: key } = useSession()
  const close = () => setDialog(undefined)
  const run = useListAction()
  const conversations = useFolder(name, isOpen)
  return (
    <section className={styles.folder}>
      <FolderHead icon="folder" name={name} isOpen={isOpen} toggle={() => setOpen(!isOpen)} count={count}>
        <RowMenu
          label={t('app.folder.more', { name })}
          items={[
            { icon: 'edit', label: t('app.rename'), choose: () => setDialog('name') },
            { icon: 'settings', label: t('app.folder.settings'), choose: () => setDialog('settings') },
            { icon: 'close', label: t('app.folder.dissolve'), choose: () => run(changeFolder(key, name, null)) },
          ]}
        />
      </FolderHead>
      {isOpen && <ConversationRows conversations={conversations} onChoose={onChoose} />}
      {dialog === 'settings' && (
        <Suspense>
          <FolderSettingsDialog name={name} close={close} />
        </Suspense>
      )}
      {dialog === 'name' && (
        <NameDialog
          title={t('app.folder.rename')}
          name={name}
          save={(newName) => changeFolder(key, name, newName)}
          close={close}
        />
      )}
    </section>
  )
}

interface FolderHeadProps {
  icon: IconName
  name: string
  isOpen: boolean
  toggle: () => void
  count?: number
  children?: ReactNode
}

const FolderHead = ({ icon, name, isOpen, toggle, count, children }: FolderHeadProps) => (
  <div className={styles.head} data-row="">
    <button type="button" className={styles.name} aria-expanded={isOpen} onClick={toggle}>
      <Icon name={icon} />
      <span dir="auto">{name}</span>
      {count !== undefined && <span className="hint">{count}</span>}
    </button>
    {children}
  </div>
)

/** The archive, whose conversations load when it is opened. */
function Archive({ onChoose }: { onChoose: () => void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <section className={styles.folder}>
      <FolderHead icon="archive" name={t('app.archive')} isOpen={isOpen} toggle={() => setOpen(!isOpen)} />
      {isOpen && <ArchivedConversations onChoose={onChoose} />}
    </section>
  )
}

function ArchivedConversations({ onChoose }: { onChoose: () => void }) {
  const { conversations, error, hasNextPage, fetchNextPage } = useArchive()
  return (
    <>
      <ConversationRows conversations={conversations} onChoose={onChoose} />
      {error && <ListFailure error={error} read={refreshConversations} />}
      {hasNextPage && <MoreButton label={t('app.archive.more')} show={() => void fetchNextPage()} />}
    </>
  )
}
