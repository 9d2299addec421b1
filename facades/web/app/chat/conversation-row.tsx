import { Link, useNavigate } from '@tanstack/react-router'
import { type CSSProperties, createContext, useContext, useState } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { exportConversation } from './conversation-export.ts'
import { discardConversation, organizeConversation, renameConversation, useFolders } from './conversations.ts'
import { suggestTitle, useTask } from './tasks.ts'

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
  style?: CSSProperties
}

/** A row in the list of conversations. */
export function ConversationRow({ conversation, onChoose, style }: ConversationRowProps) {
  const { slug, name } = conversation
  const [dialog, setDialog] = useState<'name' | 'folder'>()
  const close = () => setDialog(undefined)
  const folders = useFolders()
  const { conversationKey: key } = useSession()
  const titleTask = useTask('title_generation')
  return (
    <li style={style}>
      <Link to="/chat/$slug" params={{ slug }} activeProps={{ 'aria-current': 'page' }} onClick={onChoose} dir="auto">
        {name}
      </Link>
      <RowMenu conversation={conversation} openDialog={setDialog} />
      {dialog === 'name' && (
        <NameDialog
          title={t('app.conversations.rename')}
          name={name}
          hint={t('app.conversations.nameHint')}
          suggest={titleTask && (() => suggestTitle(key, slug, titleTask))}
          save={(newName) => renameConversation(slug, newName)}
          close={close}
        />
      )}
      {dialog === 'folder' && (
        <NameDialog
          title={t('app.folder.move')}
          name={conversation.folder ?? ''}
          hint={t('app.folder.hint')}
          suggestions={folders.map((folder) => folder.name)}
          save={(folder) => organizeConversation({ slug, folder })}
          close={close}
        />
      )}
    </li>
  )
}

interface RowMenuProps {
  conversation: Conversation
  openDialog: (dialog: 'name' | 'folder') => void
}

function RowMenu({ conversation, openDialog }: RowMenuProps) {
  const { conversationKey: key } = useSession()
  const { slug, name, isPinned, folder } = conversation
  const navigate = useNavigate()
  const discard = async () => {
    await discardConversation(conversation)
    if (location.pathname === `/chat/${slug}`) await navigate({ to: '/chat' })
  }
  const run = useListAction()
  const items: MenuEntry[] = [
    { icon: 'edit', label: t('app.rename'), choose: () => openDialog('name') },
    {
      icon: 'pin',
      label: t(isPinned ? 'app.conversations.unpin' : 'app.conversations.pin'),
      choose: () => run(organizeConversation({ slug, isPinned: !isPinned })),
    },
    { icon: 'folder', label: t('app.folder.move'), choose: () => openDialog('folder') },
    {
      icon: 'arrowDown',
      label: t('app.export.markdown'),
      choose: () => run(exportConversation(key, conversation, 'md')),
    },
    {
      icon: 'arrowDown',
      label: t('app.export.json'),
      choose: () => run(exportConversation(key, conversation, 'json')),
    },
    { icon: 'trash', label: t('app.delete'), isDangerous: true, choose: () => run(discard()) },
  ]
  if (folder !== null)
    items.splice(3, 0, {
      icon: 'close',
      label: t('app.folder.leave'),
      choose: () => run(organizeConversation({ slug, folder: null })),
    })
  return <MenuButton label={t('app.conversations.menu', { name })} className="row-menu" items={items} />
}
