import { Link, useNavigate } from '@tanstack/react-router'
import { type CSSProperties, createContext, useContext, useState } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { hasTitles } from '../shared/site.ts'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { RowMenu, SideRow } from '../shared/ui/side-list.tsx'
import type { ExportKind } from './conversation-export.ts'
import styles from './conversation-row.module.css'
import { selection, useSelected } from './conversation-selection.ts'
import { organizeConversation, renameConversation, useFolders } from './conversations.ts'
import { archiveConversations, discardConversations } from './removals.ts'
import { SelectableRow } from './selectable-row.tsx'
import { useTask } from './tasks.ts'
import { suggestTitle } from './titles.ts'

/** Shows the error of an action below the list, or removes it for undefined. */
export const ListErrorContext = createContext<(error: unknown) => void>(() => {})

/** Returns a function that shows the error of an action below the list. */
export function useListAction(): (action: Promise<void>) => void {
  const show = useContext(ListErrorContext)
  return (action) => {
    show(undefined)
    void action.catch(show)
  }
}

interface ConversationRowProps {
  conversation: Conversation
  onChoose: () => void
  /** The conversations of the same list, in order. */
  list: readonly Conversation[]
  /** True if a mark shows that the conversation is archived. */
  isMarked?: boolean
  style?: CSSProperties
}

/** A row in the list of conversations. */
export function ConversationRow({ list, ...props }: ConversationRowProps) {
  const isSelecting = useSelected() !== undefined
  const { conversation, style } = props
  return isSelecting ? <SelectableRow conversation={conversation} list={list} style={style} /> : <LinkRow {...props} />
}

/** The rows of a list that is short enough to be rendered whole. */
export const ConversationRows = ({
  conversations,
  onChoose,
}: {
  conversations: readonly Conversation[]
  onChoose: () => void
}) => (
  <ul>
    {conversations.map((each) => (
      <ConversationRow key={each.slug} conversation={each} list={conversations} onChoose={onChoose} />
    ))}
  </ul>
)

function LinkRow({ conversation, onChoose, isMarked = false, style }: Omit<ConversationRowProps, 'list'>) {
  const { slug, name } = conversation
  const [dialog, setDialog] = useState<'name' | 'folder'>()
  const close = () => setDialog(undefined)
  const folders = useFolders()
  const { conversationKey: key } = useSession()
  const titleTask = useTask('title_generation')
  return (
    <SideRow style={style}>
      <Link to="/chat/$slug" params={{ slug }} activeProps={{ 'aria-current': 'page' }} onClick={onChoose} dir="auto">
        {name}
      </Link>
      {isMarked && <ArchiveMark />}
      <ConversationMenu conversation={conversation} openDialog={setDialog} />
      {dialog === 'name' && (
        <NameDialog
          title={t('app.conversations.rename')}
          name={name}
          suggest={(titleTask || hasTitles) && (() => suggestTitle({ key, slug }))}
          save={(newName) => renameConversation(key, slug, newName)}
          close={close}
        />
      )}
      {dialog === 'folder' && (
        <NameDialog
          title={t('app.folder.move')}
          name={conversation.folder ?? ''}
          hint={t('app.folder.hint')}
          suggestions={folders.map((folder) => folder.name)}
          save={(folder) => organizeConversation(key, { slug, folder })}
          close={close}
        />
      )}
    </SideRow>
  )
}

const ArchiveMark = () => (
  <span className={styles.mark} role="img" aria-label={t('app.archive')} title={t('app.archive')}>
    <Icon name="archive" />
  </span>
)

interface ConversationMenuProps {
  conversation: Conversation
  openDialog: (dialog: 'name' | 'folder') => void
}

function ConversationMenu({ conversation, openDialog }: ConversationMenuProps) {
  const { conversationKey: key } = useSession()
  const { slug, name, isPinned, folder, isArchived } = conversation
  const navigate = useNavigate()
  const leave = async () => {
    if (location.pathname === `/chat/${slug}`) await navigate({ to: '/chat' })
  }
  const discard = () => discardConversations([conversation]).then(leave)
  const archive = () =>
    isArchived
      ? organizeConversation(key, { slug, isArchived: false })
      : archiveConversations([conversation]).then(leave)
  const exportAs = async (kind: ExportKind) => {
    const { exportConversation } = await import('./conversation-export.ts')
    await exportConversation(key, conversation, kind)
  }
  const run = useListAction()
  const items: MenuEntry[] = [
    { icon: 'edit', label: t('app.rename'), choose: () => openDialog('name') },
    {
      icon: 'pin',
      label: t(isPinned ? 'app.conversations.unpin' : 'app.conversations.pin'),
      choose: () => run(organizeConversation(key, { slug, isPinned: !isPinned })),
    },
    { icon: 'folder', label: t('app.folder.move'), choose: () => openDialog('folder') },
    {
      icon: 'download',
      label: t('app.export.markdown'),
      choose: () => run(exportAs('md')),
    },
    {
      icon: 'download',
      label: t('app.export.json'),
      choose: () => run(exportAs('json')),
    },
    {
      icon: isArchived ? 'undo' : 'archive',
      label: t(isArchived ? 'app.archive.leave' : 'app.archive.enter'),
      choose: () => run(archive()),
    },
    { icon: 'check', label: t('app.selection.begin'), choose: () => selection.start(conversation) },
    { icon: 'trash', label: t('app.delete'), isDangerous: true, choose: () => run(discard()) },
  ]
  if (folder !== null)
    items.splice(3, 0, {
      icon: 'close',
      label: t('app.folder.leave'),
      choose: () => run(organizeConversation(key, { slug, folder: null })),
    })
  return <RowMenu label={t('app.conversations.menu', { name })} items={items} />
}
