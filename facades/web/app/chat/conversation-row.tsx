import { Menu } from '@base-ui/react/menu'
import { Link, useNavigate } from '@tanstack/react-router'
import { type CSSProperties, useState } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { organizeConversation, renameConversation, useFolders } from './conversations.ts'
import { discardConversation } from './discarded.ts'
import { exportConversation } from './export.ts'

interface ConversationRowProps {
  conversation: Conversation
  onChoose: () => void
  style?: CSSProperties
}

/** A conversation in the list. */
export function ConversationRow({ conversation, onChoose, style }: ConversationRowProps) {
  const { slug, name } = conversation
  const [asked, setAsked] = useState<'name' | 'folder'>()
  const close = () => setAsked(undefined)
  const folders = useFolders()
  return (
    <li style={style}>
      <Link to="/chat/$slug" params={{ slug }} activeProps={{ 'aria-current': 'page' }} onClick={onChoose} dir="auto">
        {name}
      </Link>
      <RowMenu conversation={conversation} ask={setAsked} />
      {asked === 'name' && (
        <NameDialog
          title={t('app.conversations.rename')}
          name={name}
          hint={t('app.conversations.nameHint')}
          save={(newName) => renameConversation(slug, newName)}
          close={close}
        />
      )}
      {asked === 'folder' && (
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
  ask: (what: 'name' | 'folder') => void
}

function RowMenu({ conversation, ask }: RowMenuProps) {
  const { conversationKey: key } = useSession()
  const { slug, name, isPinned, folder } = conversation
  const navigate = useNavigate()
  const discard = async () => {
    await discardConversation(conversation)
    if (location.pathname === `/chat/${slug}`) await navigate({ to: '/chat' })
  }
  return (
    <Menu.Root>
      <Menu.Trigger className="icon-button row-menu" aria-label={t('app.conversations.menu', { name })}>
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="start" className="positioner">
          <Menu.Popup className="popup">
            <Menu.Item className="menu-item" onClick={() => ask('name')}>
              <Icon name="edit" /> {t('app.rename')}
            </Menu.Item>
            <Menu.Item className="menu-item" onClick={() => organizeConversation({ slug, isPinned: !isPinned })}>
              <Icon name="pin" /> {t(isPinned ? 'app.conversations.unpin' : 'app.conversations.pin')}
            </Menu.Item>
            <Menu.Item className="menu-item" onClick={() => ask('folder')}>
              <Icon name="folder" /> {t('app.folder.move')}
            </Menu.Item>
            {folder !== null && (
              <Menu.Item className="menu-item" onClick={() => organizeConversation({ slug, folder: null })}>
                <Icon name="close" /> {t('app.folder.leave')}
              </Menu.Item>
            )}
            <Menu.Item className="menu-item" onClick={() => exportConversation(key, conversation, 'md')}>
              <Icon name="arrowDown" /> {t('app.export.markdown')}
            </Menu.Item>
            <Menu.Item className="menu-item" onClick={() => exportConversation(key, conversation, 'json')}>
              <Icon name="arrowDown" /> {t('app.export.json')}
            </Menu.Item>
            <Menu.Item className="menu-item danger" onClick={discard}>
              <Icon name="trash" /> {t('app.delete')}
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
